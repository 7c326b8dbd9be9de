#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <sstream>
#include <thread>

#include "bench/cores.hpp"
#include "bench/problem.hpp"
#include "demo/subject.hpp"
#include "ring/shards.hpp"
#include "tensor/npy.hpp"

namespace course::bench {

namespace {

struct RankOptions {
  demo::Libraries lessons;        ///< without those of the gradients only the forward pass is asked for
  std::filesystem::path problem;  ///< a folder with the inputs and the expected o, dq, dk and dv
  std::vector<int> cores;         ///< by rank
};

enum class Verb { Time, Check, Stop };

enum class Who {
  One,    ///< rank 0, with all tokens, while the others nap
  Apart,  ///< every rank by itself, with all tokens
  Ring,   ///< together
};

enum class Pass { Forward, Both };

struct Request {
  Verb verb;
  Who who;
  Pass pass;
};

/// One communicator's share of the problem.
class Ring {
 public:
  Ring(const demo::Subject& subject, const std::filesystem::path& problem, MPI_Comm comm)
      : subject_(subject), comm_(comm) {
    int rank = 0;
    int ranks = 1;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    const Tensor q = read_npy<float>(problem / "q.npy");
    tokens_ = even_shards(static_cast<int>(q.extent(1)), ranks);
    for (const char* name : {"q", "k", "v", "d_o", "o", "dq", "dk", "dv"}) {
      given_[name] = slice(read_npy<float>(problem / (std::string(name) + ".npy")), 1,
                           shard_offsets(tokens_)[rank], tokens_[rank]);
    }
    for (const char* name : {"o", "dq", "dk", "dv"}) own_[name] = Tensor(given_["q"].shape());
    lse_ = Tensor({q.extent(0), tokens_[rank]});
  }

  /// Seconds, or the worst error.
  double perform(Verb verb, Pass pass) {
    const double seconds = seconds_of([&] {
      forward();
      if (pass == Pass::Both) backward();
    });
    if (verb == Verb::Time) return seconds;
    return pass == Pass::Forward ? error("o") : std::max({error("o"), error("dq"), error("dk"), error("dv")});
  }

 private:
  HeadsView<const float> given(const char* name) { return given_.at(name).heads(); }
  HeadsView<float> own(const char* name) { return own_.at(name).heads(); }
  double error(const char* name) { return relative_error(own(name), given(name)); }

  void forward() {
    subject_.ring(given("q"), given("k"), given("v"), own("o"), lse_.matrix(), tokens_, subject_.block,
                  comm_);
  }

  void backward() {
    subject_.ring_backward(given("q"), given("k"), given("v"), own("o"), lse_.matrix(), given("d_o"),
                           own("dq"), own("dk"), own("dv"), tokens_, subject_.block_backward, comm_);
  }

  const demo::Subject& subject_;
  MPI_Comm comm_;
  std::vector<int> tokens_;
  std::map<std::string, Tensor> given_;  ///< this rank's share of the inputs and of the expected answers
  std::map<std::string, Tensor> own_;
  Tensor lse_;
};

/// Hands rank 0's request to all. Those that wait nap: a rank that spins would slow the one that works.
void share(Request& request, MPI_Comm comm) {
  MPI_Request sharing;
  MPI_Ibcast(&request, sizeof request, MPI_BYTE, 0, comm, &sharing);
  int arrived = 0;
  while (MPI_Test(&sharing, &arrived, MPI_STATUS_IGNORE), arrived == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// All ranks begin together; rank 0 gets the worst of their numbers.
template <class Work>
double worst_of_all(MPI_Comm comm, const Work& work) {
  MPI_Barrier(comm);
  const double own = work();
  double worst = own;
  MPI_Reduce(&own, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, comm);
  return worst;
}

/// "time ring forward", "check one both". Ends the program with all ranks on anything else.
Request read_request(const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  std::string who;
  std::string pass;
  words >> verb >> who >> pass;
  const std::map<std::string, Verb> verbs{{"time", Verb::Time}, {"check", Verb::Check}};
  const std::map<std::string, Who> parties{{"one", Who::One}, {"apart", Who::Apart}, {"ring", Who::Ring}};
  const std::map<std::string, Pass> passes{{"forward", Pass::Forward}, {"both", Pass::Both}};
  if (verbs.contains(verb) && parties.contains(who) && passes.contains(pass))
    return {verbs.at(verb), parties.at(who), passes.at(pass)};
  std::cerr << "bench: unknown request '" << line
            << "', expected time or check, one, apart or ring, forward or both\n";
  MPI_Abort(MPI_COMM_WORLD, 2);
  return {};
}

void serve(const RankOptions& options) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  stay_on_core(options.cores.at(rank));
  const demo::Subject subject = demo::load_subject(options.lessons, !options.lessons.ring_backward.empty());
  Ring ring(subject, options.problem, MPI_COMM_WORLD);
  Ring alone(subject, options.problem, MPI_COMM_SELF);
  for (;;) {
    Request request{Verb::Stop, Who::Ring, Pass::Forward};
    std::string line;
    if (rank == 0 && std::getline(std::cin, line)) request = read_request(line);
    share(request, MPI_COMM_WORLD);
    if (request.verb == Verb::Stop) return;
    if (request.who == Who::One && rank != 0) continue;
    const MPI_Comm party = request.who == Who::One ? MPI_COMM_SELF : MPI_COMM_WORLD;
    const double number = worst_of_all(
        party, [&] { return (request.who == Who::Ring ? ring : alone).perform(request.verb, request.pass); });
    if (rank == 0) std::cout << number << std::endl;
  }
}

RankOptions parse(int argc, char** argv) {
  RankOptions options;
  CLI::App app("One rank of a ring that is timed; course_bench starts it.");
  app.add_option("--ring", options.lessons.ring)->required();
  app.add_option("--block", options.lessons.block)->required();
  auto* gradients = app.add_option("--ring-backward", options.lessons.ring_backward);
  app.add_option("--block-backward", options.lessons.block_backward)->needs(gradients);
  app.add_option("--problem", options.problem)->required();
  app.add_option("--cores", options.cores)->required()->delimiter(',');
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
  return options;
}

}  // namespace

}  // namespace course::bench

int main(int argc, char** argv) {
  const course::bench::RankOptions options = course::bench::parse(argc, argv);
  MPI_Init(&argc, &argv);
  try {
    course::bench::serve(options);
  } catch (const std::exception& error) {
    std::cerr << "bench: " << error.what() << '\n';
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
}
