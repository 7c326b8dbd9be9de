#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "bench/contender.hpp"
#include "bench/cores.hpp"
#include "bench/options.hpp"
#include "bench/played.hpp"
#include "bench/rows.hpp"
#include "bench/worker.hpp"
#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "runner/interruption.hpp"

namespace course::bench {

namespace {

namespace fs = std::filesystem;

// The least ratios that the course sets itself, at head_dim 32, 64 and 128.
const std::map<int, double> forward_bounds{{32, 0.73}, {64, 0.90}, {128, 0.95}};
const std::map<int, double> backward_bounds{{32, 0.67}, {64, 0.85}, {128, 0.89}};
constexpr double eigen_maps_bound = 0.97;
constexpr double ring_bound = 0.95;
constexpr double spans_bound = 0.99;
constexpr double torch_bound = 1.5;
constexpr double peer_ring_bound = 2.8;

constexpr const char* eigen_row = "Eigen's product, 1024^3";
constexpr const char* one_rank = "one rank";
constexpr const char* two_apart = "two ranks at once, each by itself";
constexpr const char* two_ranks = "a ring of two, each rank";
constexpr const char* with_spans = "a ring of two with spans, each rank";
constexpr const char* peer_ring = "ring-attention-pytorch, each rank";

/// What a ring does, as peer.py calls it, and in names.
struct Pass {
  const char* task;
  const char* suffix;
  bool backward;
};
constexpr Pass forward_pass{"forward", "", false};
constexpr Pass both_passes{"both", ", forward and backward", true};

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
    if (!options.peers.empty()) start_peers();
    contenders_.push_back(eigen_product(eigen_row, cores_.front()));
    comparisons_.push_back({eigen_row});
    for (const int head_dim : options.head_dims) add_one_core(head_dim);
    add_rings();
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
    const int core = cores_.front();
    const auto add_forward = [&](const std::string& name, const fs::path& library) {
      if (!library.empty())
        add_played(name, forward_operations(problem->extents), forward(library, *problem, core), problem);
    };
    const auto add_backward = [&](const std::string& name, const fs::path& library) {
      if (!library.empty())
        add_played(name, backward_operations(problem->extents), backward(library, *problem, core), problem);
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
    const std::string name = "torch " + own;
    add_worked(name, operations, {torch_}, fmt::format("{} {}", task, problem.extents.head_dim));
    comparisons_.push_back({name});
    comparisons_.push_back({own, name, torch_bound});
  }

  void add_played(const std::string& name, double operations, Play play,
                  const std::shared_ptr<const Problem>& problem) {
    play.spared = peers_;
    contenders_.push_back(played(name, operations, std::move(play), problem));
  }

  void add_rings() {
    if (options_.ring.empty() && options_.peers.empty()) return;
    if (cores_.size() < 2) {
      std::fprintf(stderr, "bench: the ring of two ranks is left out, since there is one core\n");
      return;
    }
    const auto problem =
        std::make_shared<const Problem>(Extents{options_.heads, 2 * options_.tokens, options_.ring_head_dim});
    const double forward = forward_operations(problem->extents);
    const double both = forward + backward_operations(problem->extents);
    if (!options_.ring.empty()) {
      add_own_rings(forward_pass, forward, problem);
      if (!options_.ring_backward.empty()) add_own_rings(both_passes, both, problem);
    }
    if (ring_peers_.empty()) return;
    problem->write(ring_work() / std::to_string(options_.ring_head_dim));
    add_peer_ring(forward_pass, forward / 2);
    add_peer_ring(both_passes, both / 2);
  }

  /// `operations` of one rank that has all tokens.
  void add_own_rings(const Pass& pass, double operations, const std::shared_ptr<const Problem>& problem) {
    const auto add = [&](const char* what, double each, Play play) {
      std::string name = std::string(what) + pass.suffix;
      play.block = options_.block;
      if (pass.backward) play.block_backward = options_.backward;
      add_played(name, each, std::move(play), problem);
      return name;
    };
    const auto play = [&](int ranks, bool apart = false) {
      return ring(options_.ring, pass.backward ? options_.ring_backward : fs::path(), *problem,
                  {cores_.begin(), cores_.begin() + ranks}, apart);
    };
    Play recorded = play(2);
    recorded.spans = true;
    const std::string one = add(one_rank, operations, play(1));
    const std::string apart = add(two_apart, operations, play(2, true));
    const std::string two = add(two_ranks, operations / 2, play(2));
    const std::string spans = add(with_spans, operations / 2, std::move(recorded));
    comparisons_.push_back({one});
    comparisons_.push_back({apart, one});  // what the machine's second core is worth
    comparisons_.push_back({two, apart, ring_bound});
    comparisons_.push_back({two, one, ring_bound});
    comparisons_.push_back({spans, two, spans_bound});
  }

  void add_peer_ring(const Pass& pass, double operations) {
    const std::string name = std::string(peer_ring) + pass.suffix;
    add_worked(name, operations, ring_peers_, fmt::format("{} {}", pass.task, options_.ring_head_dim));
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
    const auto seconds = [worst](int calls) {
      double sum = 0;
      for (int i = 0; i < calls; ++i) sum += worst("time");
      return sum / calls;
    };
    contenders_.push_back({name, operations, seconds, [worst] { return worst("check"); }});
  }

  fs::path ring_work() const { return options_.work / "ring"; }

  /// Before anything is played, since a player's end spares only what it is told of.
  void start_peers() {
    torch_ = start_peer("torch", options_.work, cores_[0], {});
    if (cores_.size() < 2) return;
    const fs::path meet = options_.work / "meet";
    fs::remove(meet);  // a file of an earlier run would be taken for this one's
    for (const int rank : {0, 1})
      ring_peers_.push_back(start_peer("ring-attention-pytorch", ring_work(), cores_[rank],
                                       {"--rank", std::to_string(rank), "--meet", fs::absolute(meet)}));
  }

  std::shared_ptr<Worker> start_peer(const std::string& name, const fs::path& problems, int core,
                                     const std::vector<std::string>& more) {
    std::vector<std::string> command{options_.peers, COURSE_BENCH_PEER, "--problems",
                                     problems,       "--core",          std::to_string(core)};
    command.insert(command.end(), more.begin(), more.end());
    auto peer = std::make_shared<Worker>(name, command);
    peers_.insert(peer->pid());
    return peer;
  }

  const Options& options_;
  std::vector<int> cores_;
  std::shared_ptr<Worker> torch_;
  std::vector<std::shared_ptr<Worker>> ring_peers_;
  std::set<pid_t> peers_;
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
  const Interruptible interruptible;
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
  } catch (const Interrupted& interrupted) {
    return interrupted.exit_code;
  } catch (...) {
    return program::report_exception("bench");
  }
}
