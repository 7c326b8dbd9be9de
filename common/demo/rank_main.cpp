#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <fstream>
#include <iostream>

#include "course/terminal/terminal.hpp"
#include "demo/comparison.hpp"
#include "demo/exchange.hpp"
#include "demo/input.hpp"
#include "demo/output_folder.hpp"
#include "demo/report.hpp"
#include "demo/ring_run.hpp"
#include "demo/save.hpp"
#include "demo/status_file.hpp"
#include "mpi_layer/operation.hpp"
#include "mpi_layer/page.hpp"
#include "mpi_layer/start.hpp"
#include "protocol/errors.hpp"
#include "ring/shards.hpp"

namespace course::demo {

namespace {

using mpi_layer::check;

/// The MPI program: rank 0 reads the input and hands out shards, all run the rings, rank 0 collects,
/// compares, reports.
class RankProgram {
 public:
  RankProgram(Options options, MPI_Comm comm) : options_(std::move(options)), comm_(comm) {
    check(MPI_Comm_rank(comm, &rank_), [] { return "MPI_Comm_rank"; });
    check(MPI_Comm_size(comm, &size_), [] { return "MPI_Comm_size"; });
    page_ = &enter_status_file(options_.front.status, rank_);
    if (watched()) report_crashes(*page_);
  }

  /// Returns the exit code, the same on all ranks. Does not return when one of them fails alone.
  int run() {
    if (const int code = agree_on_input(); code != succeeded) return code;
    if (const int code = load_lessons(); code != succeeded) return code;
    try {
      const Shard shard = hand_out_shards();
      const auto say_blocks = [this](const std::string& pass, int done) {
        say(pass + ": " + std::to_string(done) + " of " + std::to_string(size_) + " blocks done");
      };
      say_blocks(rings_.front().name + " ring, forward", 0);
      const int runs = worthwhile_runs(heads_, seq_, head_dim_);
      std::vector<Answer> answers;
      for (ShardOutput& output : run_rings(rings_, shard, runs, comm_, *page_, say_blocks)) {
        answers.push_back(collect(std::move(output)));
      }
      return conclude(answers);
    } catch (const std::exception& error) {
      end_all(error.what());
    } catch (...) {
      end_all("something that is not a std::exception");
    }
  }

 private:
  /// A ring's whole answer, on rank 0.
  struct Answer {
    Tensor o, lse;
    Tensor dq, dk, dv;  ///< empty when the run was forward only
    std::vector<RankResult> ranks;
  };

  bool watched() const { return !options_.front.status.empty(); }

  void say(const std::string& text) {
    if (watched()) {
      write_text(text);
    } else if (rank_ == 0) {
      progress_.show(fmt::format("{}, {:.0f} s", text, progress_.seconds()));
    }
  }

  void write_text(const std::string& text) {
    mpi_layer::write_page(
        *page_, [&](RankStatus& own) { std::snprintf(own.text, sizeof own.text, "%s", text.c_str()); });
  }

  /// Ends every rank: the others may be waiting for this one.
  [[noreturn]] void end_all(const std::string& what) {
    if (watched()) {
      write_text(what);
      page_->phase = static_cast<std::uint32_t>(Phase::Threw);
    } else {
      std::fprintf(stderr, "demo: rank %d threw: %s\n", rank_, what.c_str());
    }
    PMPI_Abort(MPI_COMM_WORLD, failed);
    std::abort();
  }

  /// Rank 0 reads; all learn the shape, or the code to exit with.
  int agree_on_input() {
    std::int64_t numbers[5]{};  // exit code, heads, seq, head_dim, whether there is a d_o
    if (rank_ == 0) {
      say("reading the input");
      numbers[0] = read_input();
      if (numbers[0] == succeeded) {
        numbers[1] = input_.heads();
        numbers[2] = input_.seq();
        numbers[3] = input_.head_dim();
        numbers[4] = input_.d_o ? 1 : 0;
      }
    }
    broadcast(numbers, comm_);
    heads_ = numbers[1];
    seq_ = numbers[2];
    head_dim_ = numbers[3];
    backward_ = numbers[4] == 1;
    shard_tokens_ = even_shards(static_cast<int>(seq_), size_);
    return static_cast<int>(numbers[0]);
  }

  int read_input() {
    try {
      if (options_.ranks && *options_.ranks != size_) {
        throw UsageError("--ranks " + std::to_string(*options_.ranks) + ", but MPI started " +
                         std::to_string(size_) + ": expected the same number");
      }
      if (options_.out) OutputFolder{*options_.out};
      input_ = load_input(options_);
      return succeeded;
    } catch (...) {
      return program::report_exception("demo");
    }
  }

  /// The first rank that cannot load them speaks for all.
  int load_lessons() {
    std::exception_ptr error;
    try {
      rings_ = load_rings(options_.rings, options_.libraries, backward_);
    } catch (...) {
      error = std::current_exception();
    }
    const int own = error ? rank_ : size_;
    int first = size_;
    check(MPI_Allreduce(&own, &first, 1, MPI_INT, MPI_MIN, comm_), [] { return "MPI_Allreduce"; });
    if (first == size_) return succeeded;
    if (first == rank_) {
      try {
        std::rethrow_exception(error);
      } catch (...) {
        program::report_exception("demo");
      }
    }
    return wrong_usage;
  }

  Shard hand_out_shards() {
    say("handing out the shards");
    Shard shard{hand_out(&input_.q), hand_out(&input_.k), hand_out(&input_.v), shard_tokens_};
    if (backward_) shard.d_o = hand_out(rank_ == 0 ? &*input_.d_o : nullptr);
    return shard;
  }

  /// This rank's shard of `whole`, which is looked at on rank 0 alone.
  Tensor hand_out(const Tensor* whole) {
    Tensor own({heads_, shard_tokens_[rank_], head_dim_});
    if (rank_ != 0) {
      receive_values(own.values(), 0, comm_);
      return own;
    }
    const std::vector<int> offsets = shard_offsets(shard_tokens_);
    const auto cut = [&](int rank) { return slice(*whole, 1, offsets[rank], shard_tokens_[rank]); };
    for (int rank = 1; rank < size_; ++rank) send_values(cut(rank).values(), rank, comm_);
    return cut(0);
  }

  Answer collect(ShardOutput output) {
    say("collecting the answer");
    output.result.trace.rank = rank_;
    Answer answer;
    for (const std::string& text : gather_texts(to_text(output.result), comm_)) {
      answer.ranks.push_back(rank_result_from(text));
    }
    answer.o = collect(std::move(output.o));
    answer.lse = collect(std::move(output.lse));
    if (!backward_) return answer;
    answer.dq = collect(std::move(output.dq));
    answer.dk = collect(std::move(output.dk));
    answer.dv = collect(std::move(output.dv));
    return answer;
  }

  /// Joins the ranks' parts along the sequence, on rank 0.
  Tensor collect(Tensor part) {
    if (rank_ != 0) {
      send_values(part.values(), 0, comm_);
      return {};
    }
    Shape shape = part.shape();
    std::vector<Tensor> parts{std::move(part)};
    for (int rank = 1; rank < size_; ++rank) {
      shape[1] = shard_tokens_[rank];
      receive_values(parts.emplace_back(shape).values(), rank, comm_);
    }
    return concatenate(parts, 1);
  }

  int conclude(const std::vector<Answer>& answers) {
    std::int64_t code = 0;
    if (rank_ == 0) code = compare_and_report(answers);
    broadcast({&code, 1}, comm_);
    page_->phase = static_cast<std::uint32_t>(Phase::Done);
    return static_cast<int>(code);
  }

  int compare_and_report(const std::vector<Answer>& answers) {
    try {
      const RunSummary run{input_.shape,
                           input_.heads(),
                           input_.seq(),
                           input_.head_dim(),
                           input_.description,
                           options_.mine,
                           worthwhile_runs(heads_, seq_, head_dim_),
                           compare(answers)};
      say("writing");
      const Answer& first = answers.front();
      const SavedFiles saved = save(options_, run, {first.o, first.lse, first.dq, first.dk, first.dv});
      progress_.clear();
      print(options_.json ? report_json(run)
                          : report_text(run, saved, options_.front.columns, options_.front.colour));
      return run.passed() ? succeeded : failed;
    } catch (...) {
      return program::report_exception("demo");
    }
  }

  std::vector<RingSummary> compare(const std::vector<Answer>& answers) {
    const auto progress = [this](const std::string& text) { say(text); };
    std::vector<RingSummary> rings;
    const ForwardReference forward(input_, shard_tokens_, progress);
    for (std::size_t i = 0; i < answers.size(); ++i)
      rings.push_back({options_.rings[i], answers[i].ranks, forward.compare(answers[i].o, answers[i].lse)});
    if (!backward_) return rings;
    const BackwardReference backward(input_, shard_tokens_, progress);
    for (std::size_t i = 0; i < answers.size(); ++i)
      rings[i].comparison.gradients = backward.compare(answers[i].dq, answers[i].dk, answers[i].dv);
    return rings;
  }

  void print(const std::string& report) const {
    if (options_.front.report.empty()) {
      std::cout << report << std::flush;
    } else {
      std::ofstream(options_.front.report, std::ios::binary) << report;
    }
  }

  Options options_;
  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
  RankStatus* page_;
  program::ProgressLine progress_{std::chrono::seconds(5), "demo"};
  Input input_;  ///< on rank 0
  Index heads_ = 0;
  Index seq_ = 0;
  Index head_dim_ = 0;
  bool backward_ = false;
  std::vector<int> shard_tokens_;
  std::vector<Ring> rings_;
};

int run_rank(const std::vector<std::string>& arguments, MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), [] { return "MPI_Comm_rank"; });
  Options options;
  try {
    options = parse_options(arguments);
  } catch (const UsageError& error) {  // the same on all ranks; one says it
    return rank == 0 ? program::report_exception("demo") : wrong_usage;
  } catch (const Unavailable& error) {
    return rank == 0 ? program::report_exception("demo") : unavailable;
  }
  if (!options.help.empty()) {
    if (rank == 0) std::cout << options.help;
    return succeeded;
  }
  return RankProgram(std::move(options), comm).run();
}

}  // namespace

}  // namespace course::demo

int main(int argc, char** argv) {
  course::mpi_layer::start(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  const int code = course::demo::run_rank({argv + 1, argv + argc}, comm);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return code;
}
