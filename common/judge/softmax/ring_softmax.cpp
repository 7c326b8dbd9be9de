#include "judge/softmax/ring_softmax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "judge/checks/communication_checks.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/diagnosis/readings.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/rounding.hpp"
#include "judge/numbers/wrong_entries.hpp"
#include "judge/softmax/ring_softmax_checks.hpp"
#include "player/softmax_steps.hpp"
#include "reference/softmax.hpp"
#include "ring/shards.hpp"

namespace course::ring_softmax {

namespace {

using softmax_steps::minus_infinity;

Answer expected(const Example& example) {
  const Tensor64 x = cast<double>(example.inputs.at("x"));
  const reference::Softmax<double> row = reference::softmax(Tensor64({1, x.size()}, x.values()));
  return {{"p", {{x.size()}, row.p.values()}}, {"lse", Tensor64({example.ranks()}, row.lse[0])}};
}

/// The steps that a submission is given make weights from a maximum, whatever is merged.
Answer rounding(const Example& example) {
  const Tensor64 x = cast<double>(example.inputs.at("x"));
  const Answer row = rounding::softmax(Tensor64({1, x.size()}, x.values()), 0);
  return {{"p", {{x.size()}, row.at("p").values()}}, {"lse", Tensor64({example.ranks()}, row.at("lse")[0])}};
}

std::vector<Tensor> pieces_of(const Example& example) {
  std::vector<Tensor> pieces;
  for (int rank = 0; rank < example.ranks(); ++rank)
    pieces.push_back(example.layout.shard(example.inputs.at("x"), 0, rank));
  return pieces;
}

/// By rank.
using States = std::vector<SoftmaxState>;

States local_states(const Example& example) {
  States states;
  for (const Tensor& piece : pieces_of(example)) states.push_back(softmax_steps::local(piece.flat()));
  return states;
}

/// What comes of it when every rank takes its state for the whole row's.
Answer answer_from(const Example& example, const States& states,
                   float (*lse_of)(SoftmaxState) = softmax_steps::logsumexp) {
  std::vector<Tensor> pieces = pieces_of(example);
  Tensor lse({example.ranks()});
  for (int rank = 0; rank < example.ranks(); ++rank) {
    softmax_steps::write(pieces[rank].flat(), states[rank], pieces[rank].flat());
    lse[rank] = lse_of(states[rank]);
  }
  return {{"p", cast<double>(example.layout.join(pieces, 0))}, {"lse", cast<double>(lse)}};
}

float log_of_sum(SoftmaxState state) {
  return std::log(state.l);
}

/// The right answer with an output of another.
Answer right_but_for(const char* output, const Answer& wrong, const Example& example) {
  Answer mixed = expected(example);
  mixed[output] = wrong.at(output);
  return mixed;
}

/// p from a rank's own scores alone.
Answer local_weights(const Example& example) {
  return right_but_for("p", answer_from(example, local_states(example)), example);
}

Answer without_m(const Example& example) {
  const std::size_t ranks = example.ranks();
  const SoftmaxState whole = softmax_steps::merged(local_states(example));
  return answer_from(example, States(ranks, whole), log_of_sum);
}

/// What both tasks can get wrong.
std::vector<Mistake> with_shared_mistakes(std::vector<Mistake> all) {
  all.insert(all.end(), {{"local_weights", local_weights}, {"lse_without_m", without_m}});
  return all;
}

Tensor64 maxima(const Example& example) {
  return Tensor64({example.ranks()}, softmax_steps::maximum(example.inputs.at("x").values()));
}

/// Of each rank's piece its part of the sum of exponentials; nothing where that is 0.
std::optional<std::vector<double>> parts_of_sum(const Example& example, double lse) {
  if (!std::isfinite(lse)) return std::nullopt;
  std::vector<double> parts;
  for (const Tensor& piece : pieces_of(example)) {
    double& part = parts.emplace_back(0);
    for (const float score : piece.values()) part += std::exp(score - lse);
  }
  return parts;
}

/// By what factor the sum that a rank has is too large, as its lse says, and as its weights say: NaN where
/// these say nothing.
double sum_by_lse(const Played& played, int rank) {
  return std::exp(played.answer.at("lse")[rank] - played.expected.at("lse")[rank]);
}

double sum_by_weights(const Played& played, int rank) {
  double product = 0, square = 0, off = 0;
  for (const Index position : played.example->layout.positions(rank)) {
    const double right = played.expected.at("p")[position], given = played.answer.at("p")[position];
    product += right * given;
    square += right * right;
  }
  const double factor = product / square;
  for (const Index position : played.example->layout.positions(rank)) {
    off += std::pow(played.answer.at("p")[position] - factor * played.expected.at("p")[position], 2);
  }
  const double allowed = mistake_factor * played.tolerance.at("p") * std::max(1.0, std::abs(factor));
  const bool fits = square > 1e-12 && std::sqrt(off / square) <= 4 * allowed;
  return !fits ? std::numeric_limits<double>::quiet_NaN() : factor == 0 ? 0 : 1 / factor;
}

using SumOfRank = double (*)(const Played&, int rank);

/// By rank, how often the state that an output was made of holds each rank's piece: one that all inputs agree
/// on.
std::vector<std::vector<int>> pieces_taken(const std::vector<Played>& test, const char* output,
                                           SumOfRank sum_of_rank) {
  std::vector<std::vector<int>> taken;
  const int ranks = test.front().example->ranks();
  for (int rank = 0; rank < ranks; ++rank) {
    std::vector<Sum> sums;
    for (const Played& played : test) {
      if (played.answer.empty()) continue;
      const double lse = played.expected.at("lse")[rank];
      const std::optional<std::vector<double>> parts = parts_of_sum(*played.example, lse);
      const double sum = parts ? sum_of_rank(played, rank) : 0;
      if (!parts || std::isnan(sum)) continue;
      const double room = mistake_factor * played.tolerance.at(output) *
                          (std::string_view(output) == "lse" ? std::max(1.0, std::abs(lse)) : 1);
      sums.push_back({*parts, sum, std::max(1.0, sum) * (room + 1e-5)});
    }
    const std::optional<std::vector<int>> times = times_taken(sums, ranks + 1);
    if (!times) return {};
    taken.push_back(*times);
  }
  return taken;
}

std::string which_pieces(const Played& shown, const std::vector<Played>& test) {
  if (shown.answer.empty() || is_right(shown) || shown.example->ranks() < 2) return "";
  const auto by_lse = pieces_taken(test, "lse", sum_by_lse);
  const auto by_weights = pieces_taken(test, "p", sum_by_weights);
  if (by_lse == by_weights) return pieces_words(by_lse);
  const auto of = [](const char* output, const std::string& words) {
    return words.empty() ? "" : fmt::format("by its {}: {}", output, words);
  };
  const std::string lse = of("lse", pieces_words(by_lse)), p = of("p", pieces_words(by_weights));
  return lse + (lse.empty() || p.empty() ? "" : "\n") + p;
}

/// A chain's steps as switches.
struct ChainSteps {
  bool merges = true;               ///< what arrives
  bool sends_merged = true;         ///< else a rank passes on its own state
  bool shares = true;               ///< the last rank's state with all
  bool shares_from_rank_0 = false;  ///< rank 0's state
  const char* late = "";  ///< the only output that is computed before the state is shared, where one is
};

Answer run_chain(const ChainSteps& steps, const Example& example) {
  const States own = local_states(example);
  States states = own;
  for (std::size_t rank = 1; steps.merges && rank < states.size(); ++rank)
    states[rank] =
        softmax_steps::merged(std::array{(steps.sends_merged ? states : own)[rank - 1], own[rank]});
  if (steps.shares) states = States(states.size(), steps.shares_from_rank_0 ? states.front() : states.back());
  const Answer answer = answer_from(example, states);
  return *steps.late == '\0' ? answer : right_but_for(steps.late, answer, example);
}

/// What leaves a rank at a hop: its own state, all that it has merged so far, or what arrived last; on odd
/// ranks, which receive first, what has just arrived.
enum class Leaving { Own, Merged, Arrived, JustArrived };
/// What a rank merges at a hop; or what arrives takes the place of what was merged, and what leaves is then
/// merged with it, or nothing.
enum class Merging { Arrived, Leaving, Nothing, LeavingWithArrived, ArrivedAlone };

/// A rotation's steps as switches.
struct RotationSteps {
  Leaving leaving = Leaving::Arrived;
  Merging merging = Merging::Arrived;
  int more_hops = 0;                 ///< than P - 1
  bool begins_with_nothing = false;  ///< in place of the rank's own state, which is merged at the first hop
  /// With an odd world size nothing arrives at unserved_rank, whose own state is then all that it ever passes
  /// on.
  bool leaves_one_out = false;
  bool merges_its_own_again = false;  ///< where nothing arrives
  bool weights_from_arrived = false;  ///< from the state that arrived last, not from the merged one
};

Answer run_rotation(const RotationSteps& steps, const Example& example) {
  const States own = local_states(example);
  States merged = steps.begins_with_nothing ? States(own.size()) : own, arrived = own;
  const int ranks = example.ranks();
  const bool leaves_out = steps.leaves_one_out && ranks % 2 == 1;
  const int hops = ranks - 1 + steps.more_hops;
  for (int hop = 0; hop < hops; ++hop) {
    States leaving = steps.leaving == Leaving::Own      ? own
                     : steps.leaving == Leaving::Merged ? merged
                                                        : arrived;
    for (int rank = 1; steps.leaving == Leaving::JustArrived && rank < ranks; rank += 2)
      leaving[rank] = leaving[example.ahead(rank, -1)];
    for (int rank = 0; rank < ranks; ++rank) {
      const bool left_out = leaves_out && rank == unserved_rank(example);
      if (!left_out) arrived[rank] = leaving[example.ahead(rank, -1)];
      if ((left_out && !steps.merges_its_own_again) || steps.merging == Merging::Nothing) continue;
      const bool replaced =
          steps.merging == Merging::LeavingWithArrived || steps.merging == Merging::ArrivedAlone;
      if (replaced) merged[rank] = arrived[rank];
      if (steps.merging == Merging::ArrivedAlone) continue;
      const States& from = steps.merging == Merging::Arrived ? arrived : leaving;
      merged[rank] = softmax_steps::merged(std::array{merged[rank], from[rank]});
    }
  }
  Answer answer = answer_from(example, merged);
  if (steps.weights_from_arrived) answer["p"] = answer_from(example, arrived).at("p");
  return answer;
}

std::vector<int> uneven_shards(InputGenerator& generator, int ranks) {
  std::vector<int> shards;
  for (int rank = 0; rank < ranks; ++rank) shards.push_back(generator.integer(1, 12));
  shards[generator.integer(0, ranks - 1)] += 13;
  return shards;
}

/// Normal scores around 4, so that the logsumexp, whose relative error is judged, stays away from 0.
Example ordinary(InputGenerator& generator, std::string what, std::vector<int> shards) {
  Tensor x = generator.normal({total_tokens(shards)}, 2);
  for (float& score : x.values()) score += 4;
  return make_example(std::move(what), std::move(x), std::move(shards));
}

/// Ordinary scores with one rank's all -inf.
Example masked_rank(InputGenerator& generator, std::string what, int ranks, int masked) {
  const std::vector<int> shards = uneven_shards(generator, ranks);
  Example example = ordinary(generator, std::move(what), shards);
  std::fill_n(example.inputs["x"].values().begin() + shard_offsets(shards)[masked], shards[masked],
              minus_infinity);
  return example;
}

/// Every rank's scores lie within 5 of its own level.
Example levels(InputGenerator& generator, std::string what, int ranks,
               const std::function<double(int rank)>& level) {
  std::vector<int> shards = uneven_shards(generator, ranks);
  std::vector<Tensor> pieces;
  for (int rank = 0; rank < ranks; ++rank)
    pieces.push_back(generator.uniform_tensor({shards[rank]}, level(rank) - 5, level(rank) + 5));
  return make_example(std::move(what), concatenate(pieces, 0), std::move(shards));
}

/// One query's scores against the keys of real input, q doubled.
Example real_row(InputGenerator& generator, int ranks) {
  constexpr int tokens = 211;
  const QKV real = minilm_qkv(0, tokens, {generator.integer(0, 11)}, 2);
  Tensor scores = scores_of(real, {generator.integer(0, tokens - 1)});
  return make_example("a real row of attention scores", {{tokens}, std::move(scores.values())},
                      even_shards(tokens, ranks));
}

/// The last rank's last score is the largest by far: nothing that an lse so far from 0 rounds off changes a
/// weight.
Example deciding_score(std::string what, int ranks, double score) {
  Tensor x({3 * ranks}, static_cast<float>(1.25 * score));
  x[3 * ranks - 1] = static_cast<float>(score);
  return make_example(std::move(what), std::move(x), even_shards(3 * ranks, ranks));
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  const int last = ranks - 1;
  const auto on = [&](std::string what, std::vector<int> shards) {
    return ordinary(generator, std::move(what), std::move(shards));
  };
  const auto on_one_rank = [&](int owner) {
    std::vector<int> shards(ranks, 0);
    shards[owner] = generator.integer(1, 9);
    return shards;
  };
  const auto from_to = [&](double first, double end) {
    return [=](int rank) { return rank == 0 ? first : first + (end - first) * rank / last; };
  };
  std::vector<Example> all{
      on("even shards", even_shards(ranks * generator.integer(3, 12), ranks)),
      on("uneven shards", uneven_shards(generator, ranks)),
      on("a long row", even_shards(generator.integer(1000, 2000), ranks)),
      real_row(generator, ranks),
      on("one score on each rank", std::vector<int>(ranks, 1)),
      on("scores on the last rank alone", on_one_rank(last)),
      on("scores on rank 0 alone", on_one_rank(0)),
      on("scores on one rank in the middle alone", on_one_rank(ranks / 2)),
      on("no scores at all", std::vector<int>(ranks, 0)),
      levels(generator, "scores that rise by 130 from rank 0 to the last", ranks, from_to(-40, 90)),
      levels(generator, "scores that fall by 130 from rank 0 to the last", ranks, from_to(90, -40)),
      levels(generator, "a maximum on the last rank", ranks, [&](int rank) { return rank == last ? 25 : 2; }),
      levels(generator, "scores near -150", ranks, from_to(-150, -145)),
      levels(generator, "scores near -2e4", ranks, from_to(-20000, -19995)),
      levels(generator, "scores near -1e10", ranks, from_to(-0x1p33, -0x1p33)),
      levels(generator, "scores near 95", ranks, from_to(92, 97)),
      make_example("scores of 87.75, whose exponentials add up to more than float32 holds",
                   Tensor({4 * ranks}, 87.75f), even_shards(4 * ranks, ranks)),
      deciding_score("one score near -1e38, and all others below it", ranks, -0x1p127)};
  if (ranks > 1) {
    all.push_back(masked_rank(generator, "rank 0's scores masked", ranks, 0));
    all.push_back(masked_rank(generator, "the last rank's scores masked", ranks, last));
  }
  all.push_back(make_example("a row that is masked throughout", Tensor({3 * ranks}, minus_infinity),
                             even_shards(3 * ranks, ranks)));
  return all;
}

Task task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"p", {"score"}}, {"lse", {"rank"}}},
          .examples = examples,
          .expected = expected,
          // With the arithmetic that the submission is given: what it loses on a long row, so does every one.
          .baseline = [](const Example& example) { return run_chain({}, example); },
          .rounding = rounding,
          .of_family = true,
          .split_axis = {{"x", 0}},
          .readings = lse_formulas(expected, maxima),
          .look = which_pieces};
}

/// Told of a wrong answer alone: who finds another way to pass a state on is right.
std::vector<Finding> half_states(const Played& played,
                                 const std::function<bool(const RankReport&)>& has_half) {
  if (is_right(played) || !checks::traffic_was_measured(*played.outcome)) return {};
  if (std::ranges::none_of(played.outcome->reports, has_half)) return {};
  return {{"half_a_state", "messages have 4 bytes; a state has 8"}};
}

std::vector<Finding> chain_of_whole_states(const Played& played) {
  return half_states(played, [](const RankReport& report) {
    return checks::bytes_sent(report) % state_bytes != 0 || report.collective_bytes % state_bytes != 0;
  });
}

/// Told of a wrong answer alone: where some ranks call a collective, those that do not are left with what
/// they had, and so are those that name another root.
std::vector<Finding> collective_on_every_rank(const Played& played) {
  if (is_right(played)) return {};
  std::vector<Index> callers;
  const Fact* first = nullptr;
  std::string other_call;
  const auto words = [](const Fact& fact) {
    return fact.root < 0 ? fact.call : fmt::format("{} with root {}", fact.call, fact.root);
  };
  for (std::size_t rank = 0; rank < played.outcome->facts.size(); ++rank) {
    const Fact* const fact = checks::first_of_kind(played.outcome->facts[rank], fact_collective);
    if (fact == nullptr) continue;
    callers.push_back(static_cast<Index>(rank));
    if (first == nullptr) first = fact;
    if (fact->call == first->call && fact->root != first->root && other_call.empty())
      other_call = fmt::format("rank {} {}", rank, words(*fact));
  }
  if (!other_call.empty())
    return {
        {"", fmt::format("rank {} calls {}, and {}: every rank has to name the same root, the one that has "
                         "the state",
                         callers.front(), words(*first), other_call)}};
  if (callers.empty() || callers.size() == played.outcome->facts.size()) return {};
  return {{"", fmt::format("only {} called {}: every rank of the communicator has to call it",
                           index_words("rank", callers, played.example->ranks()), words(*first))}};
}

/// On three ranks two halves are as many bytes as one state, which may be the only one that was sent.
std::vector<Finding> rotation_of_whole_states(const Played& played) {
  const int ranks = played.example->ranks();
  return half_states(played, [=](const RankReport& report) {
    return ranks != 3 && 2 * checks::bytes_sent(report) == (ranks - 1) * state_bytes && ranks > 1;
  });
}

/// Whether the states that each rank sent agree with what a mistake says of hops. Where they were not
/// counted, that some did not arrive is not told from that they were not merged.
bool hops_agree(const std::string& mistake, const Example& example, const Outcome& outcome) {
  if (!checks::traffic_was_measured(outcome)) return mistake != "last_arrival_not_merged";
  const std::int64_t needed = example.ranks() - 1;
  return std::ranges::all_of(outcome.reports, [&](const RankReport& report) {
    const std::int64_t sent = checks::bytes_sent(report) / state_bytes;
    if (mistake == "one_hop_short") return sent < std::max<std::int64_t>(1, needed);
    if (mistake == "one_hop_too_many") return sent > needed || needed == 0;
    return mistake != "last_arrival_not_merged" || sent == needed;
  });
}

}  // namespace

Example make_example(std::string what, Tensor x, std::vector<int> shards) {
  return {std::move(what), {{"x", std::move(x)}}, {}, std::move(shards)};
}

Task chain_task(std::string id, std::string function) {
  Task chain = task(std::move(id), std::move(function));
  chain.mistakes = with_shared_mistakes(
      mistakes_of<ChainSteps>(run_chain, {{"result_not_shared", {.shares = false}},
                                          {"computed_before_shared", {.shares = false, .late = "p"}},
                                          {"computed_before_shared", {.shares = false, .late = "lse"}},
                                          {"shared_from_rank_0", {.shares_from_rank_0 = true}},
                                          {"nothing_merged", {.merges = false}},
                                          {"sends_before_merging", {.sends_merged = false}}}));
  // The ends of a chain have no neighbour: none of its ranks need MPI_PROC_NULL by mistake.
  chain.answer_checks = {chain_of_whole_states, collective_on_every_rank, checks::joins_its_ends("")};
  return chain;
}

Task rotation_task(std::string id, std::string function) {
  Task rotation = task(std::move(id), std::move(function));
  rotation.mistakes = with_shared_mistakes(mistakes_of<RotationSteps>(
      run_rotation,
      {{"odd_world_size", {.leaves_one_out = true}},
       {"odd_world_size", {.leaves_one_out = true, .merges_its_own_again = true}},
       {"own_state_every_hop", {.leaving = Leaving::Own}},
       {"merged_state_travels", {.leaving = Leaving::Merged}},
       {"receives_over_the_send_buffer", {.leaving = Leaving::JustArrived}},
       {"sent_state_merged", {.merging = Merging::Leaving}},
       {"nothing_merged", {.merging = Merging::Nothing}},
       {"received_over_merged", {.merging = Merging::LeavingWithArrived}},
       {"received_over_merged", {.leaving = Leaving::Own, .merging = Merging::LeavingWithArrived}},
       {"received_over_merged", {.merging = Merging::ArrivedAlone}},
       {"weights_from_the_traveller", {.weights_from_arrived = true}},
       {"one_hop_too_many", {.more_hops = 1}},
       {"last_arrival_not_merged", {.merging = Merging::Leaving, .begins_with_nothing = true}},
       {"last_arrival_not_merged", {.more_hops = -1}},
       {"one_hop_short", {.more_hops = -1}},
       {"own_state_not_merged", {.begins_with_nothing = true}}}));
  for (Mistake& mistake : rotation.mistakes) {
    mistake.agrees = [id = mistake.id](const Example& example, const Outcome& outcome) {
      return hops_agree(id, example, outcome);
    };
  }
  rotation.fail_on_all_inputs = {"every_rank_sends_first", "every_rank_receives_first"};
  rotation.explain_answers = {"ends_not_joined"};
  rotation.answer_checks = {rotation_of_whole_states, checks::joins_its_ends("ends_not_joined")};
  rotation.follows_from = {{"sends_to_itself_alone", "one_hop_too_many"}};
  return rotation;
}

}  // namespace course::ring_softmax
