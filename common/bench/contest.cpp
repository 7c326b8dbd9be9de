#include "bench/contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bench/contender.hpp"
#include "bench/peers.hpp"
#include "bench/played.hpp"
#include "course/terminal/terminal.hpp"
#include "ring/shards.hpp"

namespace course::bench {

namespace {

namespace fs = std::filesystem;

struct BlockPass {
  Role role;
  const char* name;
  double (*operations)(const timed::Extents&);
  Play (*play)(const fs::path& library, const Problem& problem, int core);
  Play (*play_in_registers)(const fs::path& library, const Problem& problem, int core);
};
const BlockPass block_passes[] = {
    {Role::Block, "forward", timed::forward_operations, forward, forward_in_registers},
    {Role::BlockBackward, "backward", timed::backward_operations, backward, backward_in_registers}};

// The least ratios that the course sets itself.
constexpr double eigen_maps_bound = 0.97;
constexpr double ring_bound = 0.95;
constexpr double spans_bound = 0.99;
// And where blocks are in vector registers.
constexpr double ring_bound_in_registers = 0.98;
constexpr double torch_bound_in_registers = 1.25;
constexpr double peer_ring_bound_in_registers = 2.15;
constexpr double peer_ring_bound_of_both_in_registers = 2.6;

constexpr const char* eigen_row = "Eigen's product, 1024^3";
constexpr const char* one_rank = "one rank";
constexpr const char* two_apart = "two ranks at once, each by itself";
constexpr const char* two_ranks = "a ring of two, each rank";
constexpr const char* with_spans = "a ring of two with spans, each rank";
constexpr const char* peer_ring = "ring-attention-pytorch, each rank";

/// Collects what is timed, and what is held against what.
class Preparation {
 public:
  explicit Preparation(const Contest& contest) : contest_(contest), cores_(allowed_cores()) {
    if (!contest.peers.empty()) start_peers();
    contenders_.push_back(eigen_product(eigen_row, cores_.front()));
    rows_.push_back({eigen_row});
    for (const int head_dim : contest.head_dims) add_one_core(head_dim);
    add_rings();
  }

  std::vector<Row> run() const {
    return with_rates(rows_, measure(contenders_, contest_.repetitions, contest_.min_seconds));
  }

 private:
  std::optional<double> in_registers(double bound) const {
    return contest_.in_registers ? std::optional(bound) : std::nullopt;
  }

  fs::path library(Role role) const {
    const auto found = contest_.lessons.find(role);
    return found == contest_.lessons.end() ? fs::path() : found->second.library;
  }

  void add_one_core(int head_dim) {
    const auto problem =
        std::make_shared<const Problem>(timed::Extents{contest_.heads, contest_.tokens, head_dim});
    if (!contest_.peers.empty()) problem->write(contest_.work / std::to_string(head_dim));
    for (const BlockPass& pass : block_passes) {
      const std::string name = fmt::format("{}, d = {}", pass.name, head_dim);
      const double operations = pass.operations(problem->extents);
      if (!library(pass.role).empty()) {
        const auto play = contest_.in_registers ? pass.play_in_registers : pass.play;
        add_played(name, operations, play(library(pass.role), *problem, cores_.front()), problem);
        rows_.push_back({name, eigen_row});
      }
      if (const auto maps = contest_.eigen_maps.find(pass.role); maps != contest_.eigen_maps.end()) {
        const std::string eigen_name = fmt::format("{} with Eigen's maps, d = {}", pass.name, head_dim);
        add_played(eigen_name, operations, pass.play(maps->second.library, *problem, cores_.front()),
                   problem);
        rows_.push_back({name, eigen_name, eigen_maps_bound});
      }
      if (contest_.peers.empty()) continue;
      contenders_.push_back(
          worked("torch " + name, operations, {torch_}, fmt::format("{} {}", pass.name, head_dim)));
      rows_.push_back({"torch " + name});
      rows_.push_back({name, "torch " + name, in_registers(torch_bound_in_registers)});
    }
  }

  void add_played(const std::string& name, double operations, Play play,
                  const std::shared_ptr<const Problem>& problem) {
    play.spared = peers_;
    contenders_.push_back(played(name, operations, std::move(play), problem));
  }

  void add_rings() {
    const bool own = !library(Role::Block).empty() && !library(Role::RingForward).empty();
    if (!own && contest_.peers.empty()) return;
    if (cores_.size() < 2)
      return program::complain("the ring of two ranks is left out, since there is one core");
    const auto problem = std::make_shared<const Problem>(
        timed::Extents{contest_.heads, 2 * contest_.tokens, contest_.ring_head_dim});
    const double once = timed::forward_operations(problem->extents);
    const double both = once + timed::backward_operations(problem->extents);
    if (own) add_own_rings(forward_pass, once, problem);
    if (own && !library(Role::BlockBackward).empty() && !library(Role::RingBackward).empty())
      add_own_rings(both_passes, both, problem);
    if (ring_peers_.empty()) return;
    problem->write(ring_work() / std::to_string(contest_.ring_head_dim));
    add_peer_ring(forward_pass, once / 2);
    add_peer_ring(both_passes, both / 2);
  }

  /// `operations` of one rank that has all tokens.
  void add_own_rings(const Pass& pass, double operations, const std::shared_ptr<const Problem>& problem) {
    const auto add = [&](const char* what, double each, Play play) {
      std::string name = std::string(what) + pass.suffix;
      play.block = library(Role::Block);
      if (pass.backward) play.block_backward = library(Role::BlockBackward);
      add_played(name, each, std::move(play), problem);
      return name;
    };
    const auto play = [&](int ranks, bool apart = false) {
      return ring(contest_.lessons.at(Role::RingForward),
                  pass.backward ? &contest_.lessons.at(Role::RingBackward) : nullptr,
                  even_shards(problem->tokens(), apart ? 1 : ranks),
                  {cores_.begin(), cores_.begin() + ranks});
    };
    Play recorded = play(2);
    recorded.spans = true;
    const std::string one = add(one_rank, operations, play(1));
    const std::string apart = add(two_apart, operations, play(2, true));
    const std::string two = add(two_ranks, operations / 2, play(2));
    const std::string spans = add(with_spans, operations / 2, std::move(recorded));
    rows_.push_back({one});
    rows_.push_back({apart, one});  // what the machine's second core is worth
    rows_.push_back({two, apart, contest_.in_registers ? ring_bound_in_registers : ring_bound});
    rows_.push_back({two, one});
    rows_.push_back({spans, two, spans_bound});
  }

  void add_peer_ring(const Pass& pass, double operations) {
    const std::string name = std::string(peer_ring) + pass.suffix;
    contenders_.push_back(
        worked(name, operations, ring_peers_, fmt::format("{} {}", pass.task, contest_.ring_head_dim)));
    rows_.push_back({name});
    rows_.push_back(
        {std::string(two_ranks) + pass.suffix, name,
         in_registers(pass.backward ? peer_ring_bound_of_both_in_registers : peer_ring_bound_in_registers)});
  }

  fs::path ring_work() const { return contest_.work / "ring"; }

  /// Before anything is played, since a player's end spares only what it is told of.
  void start_peers() {
    torch_ = start_torch(contest_.peers, contest_.work, cores_[0]);
    if (cores_.size() >= 2) ring_peers_ = start_peer_ring(contest_.peers, ring_work(), cores_, false);
    peers_ = pids_of(ring_peers_);
    peers_.insert(torch_->pid());
  }

  const Contest& contest_;
  std::vector<int> cores_;
  std::shared_ptr<Worker> torch_;
  std::vector<std::shared_ptr<Worker>> ring_peers_;
  std::set<pid_t> peers_;
  std::vector<Contender> contenders_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> hold(const Contest& contest) {
  return Preparation(contest).run();
}

}  // namespace course::bench
