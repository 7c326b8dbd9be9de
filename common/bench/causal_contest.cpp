#include <fmt/format.h>

#include "bench/contest.hpp"
#include "bench/peers.hpp"
#include "bench/played.hpp"
#include "ring/shards.hpp"

namespace course::bench {

namespace {

namespace fs = std::filesystem;

/// The least ratios that the course sets itself.
struct Bounds {
  double one_core, balanced;
};
constexpr Bounds bounds_of_products{0.90, 0.95}, bounds_in_registers{0.93, 0.98};

/// A layout, and what others report of a ring on it: of an eighth of one GPU's time for all of the work, on
/// eight H800, 8192 tokens each (README of zhuzilin/ring-flash-attention at commit 01c8baf, batch functions).
struct Dealing {
  const char* name;
  Layout (*layout)(int tokens, int ranks);
  const char* forward_on_h800;
  const char* both_on_h800;
};
Layout contiguous(int tokens, int ranks) {
  return even_shards(tokens, ranks);
}
Layout zigzag(int tokens, int ranks) {
  return Layout::zigzag(even_shards(tokens, 2 * ranks));
}
const Dealing dealings[] = {{"contiguous", contiguous, "52.1 %", "53.9 %"},
                            {"striped", Layout::striped, "74.4 %", "82.9 %"},
                            {"zigzag", zigzag, "85.2 %", "90.2 %"}};
/// Brandon et al. 2023, abstract: of a whole training step, A100s and TPUv4s at 256k tokens, 16 TPUv4s at
/// 786k.
constexpr const char* striped_speedup = "up to 145 and 165 % on A100s and TPUv4s";

/// Collects what is timed, and what is held against what.
class Preparation {
 public:
  explicit Preparation(const Contest& contest)
      : contest_(contest),
        bounds_(contest.in_registers ? bounds_in_registers : bounds_of_products),
        cores_(allowed_cores()) {
    if (!contest.peers.empty() && cores_.size() >= 2)
      peers_ = start_peer_ring(contest.peers, work(), cores_, true);
    full_ = problem(contest.tokens, false);
    causal_ = problem(contest.tokens, true);
    add_one_core(forward_pass);
    add_one_core(both_passes);
    full_ = problem(2 * contest.tokens, false);
    causal_ = problem(2 * contest.tokens, true);
    if (!peers_.empty()) causal_->write(work() / std::to_string(contest_.ring_head_dim));
    add_rings(forward_pass);
    add_rings(both_passes);
  }

  std::vector<Row> run() const {
    return with_rates(rows_, measure(contenders_, contest_.repetitions, contest_.min_seconds));
  }

 private:
  using ProblemHere = std::shared_ptr<const Problem>;

  fs::path work() const { return contest_.work / "causal"; }

  ProblemHere problem(int tokens, bool causal) const {
    return std::make_shared<const Problem>(timed::Extents{contest_.heads, tokens, contest_.ring_head_dim},
                                           causal);
  }

  const timed::Code* code(Role role) const {
    const auto found = contest_.lessons.find(role);
    return found == contest_.lessons.end() ? nullptr : &found->second;
  }

  /// A ring of `ranks`, each on the next core; on a layout of one rank, each by itself. Rates are each
  /// rank's. Returns the name; empty where a lesson is missing.
  std::string add(const std::string& what, const Pass& pass, bool causal, const Layout& layout, int ranks,
                  bool by_steps = true) {
    const timed::Code* forward = code(causal ? Role::RingLayout : Role::RingForward);
    const timed::Code* backward = code(causal ? Role::RingLayout : Role::RingBackward);
    const timed::Code* block_backward = code(Role::BlockBackward);
    if (forward == nullptr || (pass.backward && (backward == nullptr || block_backward == nullptr)))
      return "";
    const ProblemHere& solved = causal ? causal_ : full_;
    std::vector<int> cores;
    for (int rank = 0; rank < ranks; ++rank) cores.push_back(cores_[rank % cores_.size()]);
    Play play = ring(*forward, pass.backward ? backward : nullptr, layout, std::move(cores));
    play.block = code(Role::Block)->library;
    if (pass.backward) play.block_backward = block_backward->library;
    play.by_steps = by_steps;
    play.spared = pids_of(peers_);
    std::string name = what + pass.suffix;
    contenders_.push_back(played(name, operations(pass, *solved) / layout.ranks(), std::move(play), solved));
    return name;
  }

  static double operations(const Pass& pass, const Problem& solved) {
    const double backward = pass.backward ? timed::backward_operations(solved.extents) : 0;
    return solved.seen * (timed::forward_operations(solved.extents) + backward);
  }

  /// A row of two contenders that are there.
  void hold(const std::string& name, const std::string& against, std::optional<double> bound = {},
            const std::string& published = "") {
    if (!name.empty() && !against.empty()) rows_.push_back({name, against, bound, published});
  }

  Layout alone() const { return even_shards(causal_->tokens(), 1); }

  void add_one_core(const Pass& pass) {
    const std::string full = add("one core, all keys", pass, false, alone(), 1);
    const std::string causal = add("one core, causal", pass, true, alone(), 1);
    if (!full.empty()) rows_.push_back({full});
    hold(causal, full, pass.backward ? std::nullopt : std::optional(bounds_.one_core));
  }

  void add_rings(const Pass& pass) {
    const std::string one = add("one rank, causal", pass, true, alone(), 1);
    if (one.empty()) return;
    rows_.push_back({one});
    for (const int ranks : contest_.ring_ranks) add_rings_of(ranks, pass, one);
    if (!peers_.empty()) add_peers(pass);
  }

  void add_rings_of(int ranks, const Pass& pass, const std::string& one) {
    const auto named = [&](const std::string& what) { return fmt::format("{} of {}", what, ranks); };
    const int tokens = causal_->tokens();
    const std::string apart =
        add(fmt::format("{} ranks at once, each by itself", ranks), pass, true, alone(), ranks);
    const std::string full = add(named("ring with all keys"), pass, false, contiguous(tokens, ranks), ranks);
    hold(apart, one);
    hold(full, one);
    std::string first;
    for (const Dealing& dealing : dealings) {
      const bool is_zigzag = dealing.layout == zigzag;
      const std::string name =
          add(named(std::string(dealing.name) + " ring"), pass, true, dealing.layout(tokens, ranks), ranks);
      hold(name, one, {},
           std::string(pass.backward ? dealing.both_on_h800 : dealing.forward_on_h800) + " on eight H800");
      hold(name, apart, is_zigzag ? std::optional(bounds_.balanced) : std::nullopt);
      hold(name, full);
      hold(name, first, {}, dealing.layout == Layout::striped ? striped_speedup : "");
      if (first.empty()) first = name;
    }
  }

  /// By the clock, since nothing else is known of the other's processes.
  void add_peers(const Pass& pass) {
    const std::string own =
        add("zigzag ring of 2 by the clock", pass, true, zigzag(causal_->tokens(), 2), 2, false);
    const std::string peer = std::string("ring-attention-pytorch, causal, by the clock") + pass.suffix;
    contenders_.push_back(worked(peer, operations(pass, *causal_) / 2, peers_,
                                 fmt::format("{} {}", pass.task, contest_.ring_head_dim)));
    rows_.push_back({peer});
    hold(own, peer);
  }

  const Contest& contest_;
  Bounds bounds_;
  std::vector<int> cores_;
  Workers peers_;
  ProblemHere full_, causal_;
  std::vector<Contender> contenders_;
  std::vector<Row> rows_;
};

}  // namespace

std::vector<Row> hold_causal(const Contest& contest) {
  return Preparation(contest).run();
}

}  // namespace course::bench
