#include "bench/played.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "judge/numbers/compare.hpp"
#include "judge/numbers/input_generator.hpp"
#include "reference/reference.hpp"
#include "runner/launcher.hpp"
#include "tensor/npy.hpp"

namespace course::bench {

namespace {

namespace fs = std::filesystem;
using Tensors = std::map<std::string, Tensor>;

constexpr double key_block = 256;
constexpr double quiet_limit_s = 300;
constexpr int most_rounds = 1000;  // each is told of in a file
constexpr std::int64_t largest_output = std::int64_t{1} << 32;

/// mpirun starts all ranks with the same words: each finds its core among those of $0.
constexpr const char* on_its_core =
    R"sh(exec taskset -c "$(echo "$0" | cut -d, -f$((${OMPI_COMM_WORLD_RANK:-0} + 1)))" "$@")sh";

std::vector<std::string> player_on_cores(const Play& play) {
  return {"sh", "-c", on_its_core, fmt::format("{}", fmt::join(play.cores, ",")),
          play.player.empty() ? player_program(play.mpi) : play.player};
}

class Player {
 public:
  Player(std::string name, Play play, std::shared_ptr<const Problem> problem)
      : name_(std::move(name)), play_(std::move(play)), problem_(std::move(problem)) {}

  double seconds(int calls) const {
    const int rounds = std::min(calls, most_rounds) + 1;
    double sum = 0;
    for (const Outcome& outcome : outcomes(rounds)) {
      const std::vector<double> each =
          play_.by_steps ? step_seconds(outcome, play_.apart) : slowest_seconds(outcome);
      sum += std::accumulate(each.begin() + 1, each.end(), 0.0);
    }
    return sum / (rounds - 1);
  }

  double error() const {
    const std::vector<Outcome> all = outcomes(1);
    double worst = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t rank = 0; rank < play_.cores.size(); ++rank) {
        for (const auto& [name, expected] : share(play_.functions[i].outputs, rank))
          worst = std::max(
              worst, relative_error(cast<double>(all[i].outputs[rank].at(name)), cast<double>(expected)));
      }
    }
    return worst;
  }

 private:
  std::vector<Outcome> outcomes(int rounds) const {
    LauncherOptions options{.subject = {}, .player = player_on_cores(play_), .mpi = play_.mpi};
    options.quiet_limit_s = quiet_limit_s;
    options.timed = TimedPlay{rounds, false, play_.block, play_.block_backward};
    options.spared = play_.spared;
    std::vector<Case> cases;
    for (const PlayedFunction& function : play_.functions) cases.push_back(case_of(function));
    std::vector<Outcome> all = Launcher(options).play(cases);
    for (const Outcome& outcome : all) {
      if (!outcome.text.empty()) throw std::runtime_error(name_ + ": " + outcome.text);
    }
    return all;
  }

  Case case_of(const PlayedFunction& function) const {
    Case made{{function.name, function.arguments, function.from}};
    for (std::size_t rank = 0; rank < play_.cores.size(); ++rank)
      made.inputs.push_back(share(function.inputs, rank));
    for (const std::string& output : function.outputs) made.outputs[output] = {largest_output, 0};
    if (function.row) timed::add_row(made, *function.row);
    made.subject = function.library;
    made.name = function.name;
    made.apart = play_.apart;
    made.spans = play_.spans;
    made.checked = play_.checked;
    return made;
  }

  /// What a rank has of the problem's tensors.
  Tensors share(const std::vector<std::string>& names, std::size_t rank) const {
    const int shard = play_.apart ? 0 : static_cast<int>(rank);
    Tensors all;
    for (const std::string& name : names)
      all[name] = play_.layout.shard(problem_->tensors.at(name), 1, shard);
    return all;
  }

  std::string name_;
  Play play_;
  std::shared_ptr<const Problem> problem_;
};

/// sum_c o_ic d_o_ic of each head and query, what the backward pass of a block is given: [heads, tokens].
Tensor deltas(const Tensor& o, const Tensor& d_o) {
  Tensor delta({o.extent(0), o.extent(1)});
  for (Index head = 0; head < o.extent(0); ++head) {
    for (Index i = 0; i < o.extent(1); ++i) {
      const std::span<const float> row = o.heads().head(head).row(i);
      const double sum =
          std::inner_product(row.begin(), row.end(), d_o.heads().head(head).row(i).begin(), 0.0);
      delta.matrix()(head, i) = static_cast<float>(sum);
    }
  }
  return delta;
}

}  // namespace

Problem::Problem(const timed::Extents& size, const timed::PackedRow& row, Index kv_heads) : extents(size) {
  const reference::Mask mask = row.mask();
  std::vector<Index> all(size.tokens);
  std::iota(all.begin(), all.end(), Index{0});
  seen = static_cast<double>(mask.work(all, all)) / static_cast<double>(size.tokens * size.tokens);
  InputGenerator generator(1);
  auto [q, k, v] = random_qkv(generator, size.heads, size.tokens, size.tokens, size.head_dim);
  for (Tensor* tensor : {&k, &v}) *tensor = slice(*tensor, 0, 0, kv_heads);
  Tensor d_o = generator.normal(q.shape());
  auto [o, lse] = reference::attention(q, k, v, mask);
  reference::AttentionGradients<float> gradients = reference::attention_gradients(q, k, v, d_o, mask);
  tensors = {{"q", q},
             {"k", k},
             {"v", v},
             {"d_o", d_o},
             {"o", o},
             {"lse", lse},
             {"d_lse", Tensor(lse.shape())},
             {"delta", deltas(o, d_o)},
             {"dq", gradients.dq},
             {"dk", gradients.dk},
             {"dv", gradients.dv}};
}

void Problem::write(const std::filesystem::path& folder) const {
  std::filesystem::create_directories(folder);
  for (const auto& [name, tensor] : tensors) write_npy(folder / (name + ".npy"), tensor);
}

Play forward(const fs::path& library, const Problem& problem, int core) {
  return {{{library, "blockwise_attention", {{"block", {key_block}}}, {"q", "k", "v"}, {"o"}}},
          {core},
          std::vector{problem.tokens()}};
}

Play backward(const fs::path& library, const Problem& problem, int core) {
  // Every query sees all keys.
  const Arguments arguments{
      {"block", {key_block}}, {"offset", {static_cast<double>(problem.tokens())}}, {"step", {1}}};
  const std::vector<std::string> inputs{"q", "k", "v", "o", "lse", "d_o", "d_lse"};
  return {{{library, "attention_backward", arguments, inputs, {"dq", "dk", "dv"}}},
          {core},
          std::vector{problem.tokens()}};
}

Play forward_in_registers(const fs::path& library, const Problem& problem, int core) {
  const Arguments arguments{{"block", {static_cast<double>(problem.tokens())}}};
  return {
      {{library, "attend_block", arguments, {"q", "k", "v"}, {"o"}}}, {core}, std::vector{problem.tokens()}};
}

Play backward_in_registers(const fs::path& library, const Problem& problem, int core) {
  const double all = problem.tokens();
  const Arguments arguments{{"query_block", {all}}, {"block", {all}}, {"offset", {all}}, {"step", {1}}};
  const std::vector<std::string> inputs{"q", "k", "v", "d_o", "lse", "delta"};
  return {{{library, "block_backward", arguments, inputs, {"dq", "dk", "dv"}}},
          {core},
          std::vector{problem.tokens()}};
}

Play simulated_forward(const fs::path& library, const fs::path& player, const Problem& problem, int core) {
  const Arguments arguments{{"block", {static_cast<double>(problem.tokens())}}, {"empty_block", {0}}};
  Play play{
      {{library, "attend_block", arguments, {"q", "k", "v"}, {"o"}}}, {core}, std::vector{problem.tokens()}};
  play.player = player;
  return play;
}

Play ring(const timed::Code& forward, const timed::Code* backward, const Layout& layout,
          std::vector<int> cores) {
  const Arguments arguments = timed::ring_arguments(layout);
  Play play{{{forward.library, forward.ring, arguments, {"q", "k", "v"}, {"o"}}}, std::move(cores), layout};
  play.mpi = true;
  play.apart = layout.ranks() != static_cast<int>(play.cores.size());
  if (backward == nullptr) return play;
  PlayedFunction& after = play.functions.emplace_back(
      PlayedFunction{backward->library, backward->ring_backward, arguments, {"d_o"}, {"dq", "dk", "dv"}});
  for (const char* input : {"q", "k", "v", "o", "lse"}) after.from[input] = forward.ring;
  return play;
}

std::vector<double> step_seconds(const Outcome& outcome, bool apart) {
  const int ranks = static_cast<int>(outcome.timings.size());
  std::vector<double> seconds;
  for (std::size_t call = 0; call < outcome.timings.at(0).calls.size(); ++call) {
    std::vector<double> slowest(ranks);
    for (int rank = 0; rank < ranks; ++rank) {
      std::vector<double> own(ranks);
      for (const BlockTime& block : outcome.timings[rank].calls.at(call).blocks)
        own[apart ? 0 : (rank - block.owner + ranks) % ranks] += block.cpu_s;
      for (int step = 0; step < ranks; ++step) slowest[step] = std::max(slowest[step], own[step]);
    }
    seconds.push_back(std::accumulate(slowest.begin(), slowest.end(), 0.0));
  }
  return seconds;
}

Contender played(std::string name, double operations, Play play, std::shared_ptr<const Problem> problem) {
  const auto player = std::make_shared<const Player>(name, std::move(play), std::move(problem));
  return {std::move(name), operations, [player](int calls) { return player->seconds(calls); },
          [player] { return player->error(); }};
}

}  // namespace course::bench
