#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "bench/contender.hpp"
#include "bench/cores.hpp"
#include "bench/options.hpp"
#include "bench/rows.hpp"
#include "bench/worker.hpp"
#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "runner/mpirun.hpp"

namespace course::bench {

namespace {

namespace fs = std::filesystem;

// The least ratios that the course sets itself, at head_dim 32, 64 and 128.
const std::map<int, double> forward_bounds{{32, 0.73}, {64, 0.90}, {128, 0.95}};
const std::map<int, double> backward_bounds{{32, 0.67}, {64, 0.85}, {128, 0.89}};
constexpr double eigen_maps_bound = 0.97;
constexpr double ring_bound = 0.95;
constexpr double torch_bound = 1.5;
constexpr double peer_ring_bound = 2.8;

constexpr const char* eigen_row = "Eigen's product, 1024^3";
constexpr const char* one_rank = "one rank";
constexpr const char* two_apart = "two ranks at once, each by itself";
constexpr const char* two_ranks = "a ring of two, each rank";
constexpr const char* peer_ring = "ring-attention-pytorch, each rank";

/// What a ring does, as bench_ring_rank and peer.py call it, and in names.
struct Pass {
  const char* task;
  const char* suffix;
};
constexpr Pass forward_pass{"forward", ""};
constexpr Pass both_passes{"both", ", forward and backward"};

std::optional<double> bound_at(const std::map<int, double>& bounds, int head_dim) {
  const auto found = bounds.find(head_dim);
  return found == bounds.end() ? std::nullopt : std::optional(found->second);
}

std::string at(const char* what, int head_dim) {
  return fmt::format("{}, d = {}", what, head_dim);
}

/// What is timed, and what is held against what.
class Contest {
 public:
  explicit Contest(const Options& options) : options_(options), cores_(allowed_cores()) {
    contenders_.push_back(eigen_product(eigen_row));
    comparisons_.push_back({eigen_row});
    for (const int head_dim : options.head_dims) add_one_core(head_dim);
    add_ring();
    stay_on_core(cores_.front());
  }

  std::vector<Row> run() const {
    return rows_of(comparisons_, measure(contenders_, options_.repetitions, options_.min_seconds));
  }

 private:
  void add_one_core(int head_dim) {
    const auto problem = std::make_shared<const Problem>(Extents{options_.heads, options_.tokens, head_dim});
    const std::string forward_name = at("forward", head_dim);
    const std::string backward_name = at("backward", head_dim);
    const std::string eigen_forward_name = at("forward with Eigen's maps", head_dim);
    const std::string eigen_backward_name = at("backward with Eigen's maps", head_dim);
    const auto add_forward = [&](const std::string& name, const std::filesystem::path& library) {
      if (!library.empty()) contenders_.push_back(forward(name, library, problem));
    };
    const auto add_backward = [&](const std::string& name, const std::filesystem::path& library) {
      if (!library.empty()) contenders_.push_back(backward(name, library, problem));
    };
    add_forward(forward_name, options_.forward);
    add_forward(eigen_forward_name, options_.eigen_forward);
    add_backward(backward_name, options_.backward);
    add_backward(eigen_backward_name, options_.eigen_backward);
    comparisons_.push_back({forward_name, eigen_row, bound_at(forward_bounds, head_dim)});
    comparisons_.push_back({forward_name, eigen_forward_name, eigen_maps_bound});
    comparisons_.push_back({backward_name, eigen_row, bound_at(backward_bounds, head_dim)});
    comparisons_.push_back({backward_name, eigen_backward_name, eigen_maps_bound});
    if (options_.peers.empty()) return;
    problem->write(options_.work / std::to_string(head_dim));
    add_torch(forward_name, "forward", *problem, forward_operations(problem->extents));
    add_torch(backward_name, "backward", *problem, backward_operations(problem->extents));
  }

  void add_torch(const std::string& own, const std::string& task, const Problem& problem, double operations) {
    if (torch_ == nullptr) torch_ = start_peer({});
    const std::string name = "torch " + own;
    add_worked(name, operations, {torch_},
               fmt::format("{} {}", task, static_cast<int>(problem.extents.head_dim)));
    comparisons_.push_back({name});
    comparisons_.push_back({own, name, torch_bound});
  }

  void add_ring() {
    const bool own = !options_.ring.empty();
    if (!own && options_.peers.empty()) return;
    if (cores_.size() < 2) {
      std::fprintf(stderr, "bench: the ring of two ranks is left out, since there is one core\n");
      return;
    }
    const Problem problem({options_.heads, 2 * options_.tokens, options_.ring_head_dim});
    problem.write(ring_work() / std::to_string(options_.ring_head_dim));
    const double forward = forward_operations(problem.extents);
    const double both = forward + backward_operations(problem.extents);
    if (own) {
      const auto ranks = start_ring();
      add_own_ring(ranks, forward_pass, forward);
      if (!options_.ring_backward.empty()) add_own_ring(ranks, both_passes, both);
    }
    if (options_.peers.empty()) return;
    const auto ranks = start_peer_ring();
    add_peer_ring(ranks, forward_pass, forward / 2);
    add_peer_ring(ranks, both_passes, both / 2);
  }

  /// `operations` of one rank that has all tokens.
  void add_own_ring(const std::shared_ptr<Worker>& ranks, const Pass& pass, double operations) {
    const auto add = [&](const char* what, const char* who, double each) {
      std::string name = std::string(what) + pass.suffix;
      add_worked(name, each, {ranks}, fmt::format("{} {}", who, pass.task));
      return name;
    };
    const std::string one = add(one_rank, "one", operations);
    const std::string apart = add(two_apart, "apart", operations);
    const std::string ring = add(two_ranks, "ring", operations / 2);
    comparisons_.push_back({one});
    comparisons_.push_back({apart, one});  // what the machine's second core is worth
    comparisons_.push_back({ring, apart, ring_bound});
    comparisons_.push_back({ring, one, ring_bound});
  }

  std::vector<std::shared_ptr<Worker>> start_peer_ring() const {
    const fs::path meet = options_.work / "meet";
    fs::remove(meet);  // a file of an earlier run would be taken for this one's
    std::vector<std::shared_ptr<Worker>> ranks;
    for (const int rank : {0, 1})
      ranks.push_back(start_peer({"--rank", std::to_string(rank), "--meet", fs::absolute(meet)}, rank));
    return ranks;
  }

  void add_peer_ring(const std::vector<std::shared_ptr<Worker>>& ranks, const Pass& pass, double operations) {
    const std::string name = std::string(peer_ring) + pass.suffix;
    add_worked(name, operations, ranks, fmt::format("{} {}", pass.task, options_.ring_head_dim));
    comparisons_.push_back({name});
    comparisons_.push_back({std::string(two_ranks) + pass.suffix, name, peer_ring_bound});
  }

  /// A contender that other processes play together: the slowest counts.
  void add_worked(const std::string& name, double operations, std::vector<std::shared_ptr<Worker>> workers,
                  const std::string& task) {
    const auto worst = [workers, task](const std::string& verb) {
      for (const auto& worker : workers) worker->request(verb + " " + task);
      double number = 0;
      for (const auto& worker : workers) number = std::max(number, worker->answer());
      return number;
    };
    contenders_.push_back(
        {name, operations, [worst] { return worst("time"); }, [worst] { return worst("check"); }});
  }

  fs::path ring_work() const { return options_.work / "ring"; }

  std::shared_ptr<Worker> start_ring() const {
    std::vector<std::string> command = mpirun(2);
    const fs::path problem = ring_work() / std::to_string(options_.ring_head_dim);
    command.insert(command.end(), {fs::read_symlink("/proc/self/exe").parent_path() / "bench_ring_rank",
                                   "--ring", options_.ring, "--block", options_.block, "--problem", problem,
                                   "--cores", fmt::format("{},{}", cores_[0], cores_[1])});
    if (!options_.ring_backward.empty())
      command.insert(command.end(),
                     {"--ring-backward", options_.ring_backward, "--block-backward", options_.backward});
    return std::make_shared<Worker>("the ring", command, mpirun_environment());
  }

  std::shared_ptr<Worker> start_peer(const std::vector<std::string>& ring, int core = 0) const {
    const fs::path problems = ring.empty() ? options_.work : ring_work();
    std::vector<std::string> command{options_.peers, COURSE_BENCH_PEER, "--problems",
                                     problems,       "--core",          std::to_string(cores_[core])};
    command.insert(command.end(), ring.begin(), ring.end());
    return std::make_shared<Worker>(ring.empty() ? "torch" : "ring-attention-pytorch", command);
  }

  const Options& options_;
  std::vector<int> cores_;
  std::shared_ptr<Worker> torch_;
  std::vector<Contender> contenders_;
  std::vector<Comparison> comparisons_;
};

std::string heading(const Options& options) {
  double load = 0;
  std::string text = fmt::format(
      "One core, [{}, {}, d] float32; a ring of two: [{}, {}, {}]; medians of {}, useful operations\n",
      options.heads, options.tokens, options.heads, 2 * options.tokens, options.ring_head_dim,
      options.repetitions);
  if (getloadavg(&load, 1) == 1 && load > 0.5)
    text += fmt::format("Other work may have run beside it: the load was {:.1f} at the start\n", load);
  return text + "\n";
}

int run(const std::vector<std::string>& arguments) {
  const Options options = parse_options(arguments);
  if (!options.help.empty()) {
    std::fputs(options.help.c_str(), stdout);
    return succeeded;
  }
  const std::string title = heading(options);
  const std::vector<Row> rows = Contest(options).run();
  std::fputs((options.json ? rows_json(rows) : title + table_text(rows)).c_str(), stdout);
  return succeeded;
}

}  // namespace

}  // namespace course::bench

int main(int argc, char** argv) {
  using namespace course;
  try {
    return bench::run({argv + 1, argv + argc});
  } catch (...) {
    return program::report_exception("bench");
  }
}
