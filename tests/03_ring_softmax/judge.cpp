#include <algorithm>
#include <limits>
#include <numeric>
#include <string>

#include "judge/communication_checks.hpp"
#include "judge/task.hpp"
#include "protocol/fact_kinds.hpp"
#include "reference/softmax.hpp"
#include "ring/shards.hpp"
#include "softmax_steps.hpp"

using namespace course;

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();
constexpr std::int64_t state_bytes = sizeof(SoftmaxState);

/// Normal scores around 4, so that the logsumexp, whose relative error is judged, stays away from 0.
Tensor ordinary(InputGenerator& generator, int tokens) {
  Tensor x = generator.normal({tokens}, 2);
  for (float& score : x.values()) score += 4;
  return x;
}

/// One query's scaled scores against the keys of real input, q doubled.
Tensor real_scores(InputGenerator& generator, int tokens) {
  const QKV real = minilm_qkv(0, tokens, {generator.integer(0, 11)}, 2);
  const MatrixView<const float> keys = real.k.heads().head(0);
  const std::span<const float> query = real.q.heads().head(0).row(generator.integer(0, tokens - 1));
  Tensor scores({tokens});
  for (Index j = 0; j < tokens; ++j) {
    scores[j] = std::inner_product(query.begin(), query.end(), keys.row(j).begin(), 0.0f) /
                std::sqrt(static_cast<float>(query.size()));
  }
  return scores;
}

std::vector<int> uneven_shards(InputGenerator& generator, int ranks) {
  std::vector<int> shards;
  for (int rank = 0; rank < ranks; ++rank) shards.push_back(generator.integer(1, 12));
  shards[generator.integer(0, ranks - 1)] += 13;
  return shards;
}

/// An example with every rank's scores within 5 of its own level.
Example levels(InputGenerator& generator, std::string what, const std::vector<double>& level_by_rank) {
  const std::vector<int> shards = uneven_shards(generator, static_cast<int>(level_by_rank.size()));
  std::vector<Tensor> pieces;
  for (std::size_t rank = 0; rank < shards.size(); ++rank) {
    pieces.push_back(
        generator.uniform_tensor({shards[rank]}, level_by_rank[rank] - 5, level_by_rank[rank] + 5));
  }
  return {std::move(what), {{"x", concatenate(pieces, 0)}}, {}, shards};
}

/// Ordinary scores with one rank's all -inf.
Example masked_rank(InputGenerator& generator, std::string what, std::vector<int> shards, int masked) {
  Tensor x = ordinary(generator, std::accumulate(shards.begin(), shards.end(), 0));
  std::fill_n(x.values().begin() + shard_offsets(shards)[masked], shards[masked], minus_infinity);
  return {std::move(what), {{"x", std::move(x)}}, {}, std::move(shards)};
}

/// Levels from `first` on rank 0 to `last` on the last rank.
std::vector<double> rising(int ranks, double first, double last) {
  std::vector<double> all(ranks, first);
  for (int rank = 1; rank < ranks; ++rank) all[rank] = first + (last - first) * rank / (ranks - 1);
  return all;
}

std::vector<int> all_on_one_rank(int ranks, int owner, int tokens) {
  std::vector<int> shards(ranks, 0);
  shards[owner] = tokens;
  return shards;
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](std::string what, std::vector<int> shards) {
    Tensor x = ordinary(generator, std::accumulate(shards.begin(), shards.end(), 0));
    all.push_back({std::move(what), {{"x", std::move(x)}}, {}, std::move(shards)});
  };
  const int last = ranks - 1;
  add("even shards", even_shards(ranks * generator.integer(3, 12), ranks));
  add("uneven shards", uneven_shards(generator, ranks));
  add("a long row", even_shards(generator.integer(1000, 2000), ranks));
  all.push_back(
      {"a real row of attention scores", {{"x", real_scores(generator, 211)}}, {}, even_shards(211, ranks)});
  add("one score on each rank", std::vector<int>(ranks, 1));
  add("scores on the last rank alone", all_on_one_rank(ranks, last, generator.integer(1, 9)));
  add("scores on rank 0 alone", all_on_one_rank(ranks, 0, generator.integer(1, 9)));
  add("scores on one rank in the middle alone", all_on_one_rank(ranks, ranks / 2, generator.integer(1, 9)));
  add("no scores at all", std::vector<int>(ranks, 0));
  all.push_back(levels(generator, "scores that rise by 130 from rank 0 to the last", rising(ranks, -40, 90)));
  all.push_back(levels(generator, "scores that fall by 130 from rank 0 to the last", rising(ranks, 90, -40)));
  std::vector<double> level(ranks, 2);
  level[last] = 25;
  all.push_back(levels(generator, "a maximum on the last rank", level));
  all.push_back(levels(generator, "scores near -150", rising(ranks, -150, -145)));
  all.push_back(levels(generator, "scores near -2e4", rising(ranks, -20000, -19995)));
  if (ranks > 1) {
    all.push_back(masked_rank(generator, "rank 0's scores masked", uneven_shards(generator, ranks), 0));
    all.push_back(
        masked_rank(generator, "the last rank's scores masked", uneven_shards(generator, ranks), last));
  }
  all.push_back({"a row that is masked throughout",
                 {{"x", Tensor({3 * ranks}, minus_infinity)}},
                 {},
                 even_shards(3 * ranks, ranks)});
  return all;
}

Answer expected(const Example& example) {
  const Tensor64 x = cast<double>(example.inputs.at("x"));
  const reference::Softmax<double> row = reference::softmax(Tensor64({1, x.size()}, x.values()));
  return {{"p", {{x.size()}, row.p.values()}}, {"lse", Tensor64({example.ranks()}, row.lse[0])}};
}

std::vector<Tensor> pieces_of(const Example& example) {
  std::vector<Tensor> pieces;
  for (int rank = 0; rank < example.ranks(); ++rank)
    pieces.push_back(example.layout.shard(example.inputs.at("x"), 0, rank));
  return pieces;
}

std::vector<SoftmaxState> local_states(const Example& example) {
  std::vector<SoftmaxState> states;
  for (const Tensor& piece : pieces_of(example)) states.push_back(softmax_steps::local(piece.flat()));
  return states;
}

/// What comes of it when rank r takes state[r] for the whole row's.
Answer answer_from(const Example& example, const std::vector<SoftmaxState>& states) {
  std::vector<Tensor> pieces = pieces_of(example);
  Tensor lse({example.ranks()});
  for (int rank = 0; rank < example.ranks(); ++rank) {
    softmax_steps::write(pieces[rank].flat(), states[rank], pieces[rank].flat());
    lse[rank] = states[rank].m + std::log(states[rank].l);
  }
  return {{"p", cast<double>(example.layout.join(pieces, 0))}, {"lse", cast<double>(lse)}};
}

/// The ranks' states merged in their order, up to and with each.
std::vector<SoftmaxState> states_along_the_chain(const Example& example) {
  std::vector<SoftmaxState> states = local_states(example);
  for (std::size_t rank = 1; rank < states.size(); ++rank) {
    states[rank] = softmax_steps::merge(states[rank - 1], states[rank]);
  }
  return states;
}

/// The right answer with the arithmetic that the submission is given: what it loses on a long row, so does
/// every submission.
Answer baseline(const Example& example) {
  const SoftmaxState whole = states_along_the_chain(example).back();
  return answer_from(example, std::vector<SoftmaxState>(example.ranks(), whole));
}

Answer result_not_shared(const Example& example) {
  return answer_from(example, states_along_the_chain(example));
}

/// The same, where it is only `output` that was computed before the state was shared.
Answer result_shared_too_late_for(const std::string& output, const Example& example) {
  Answer mixed = expected(example);
  mixed[output] = result_not_shared(example).at(output);
  return mixed;
}

Answer sends_before_merging(const Example& example) {
  const std::vector<SoftmaxState> local = local_states(example);
  const std::size_t ranks = local.size();
  const SoftmaxState last = ranks > 1 ? softmax_steps::merge(local[ranks - 2], local[ranks - 1]) : local[0];
  return answer_from(example, std::vector<SoftmaxState>(ranks, last));
}

/// With an odd world size nothing goes from the last rank to rank 0, whose own state is then all that it ever
/// passes on; after rank 0 a rank is given the states of the ranks before it, and rank 0's again and again.
Answer odd_world_size(const Example& example, bool rank_0_merges_its_own_again) {
  const int ranks = example.ranks();
  if (ranks % 2 == 0) return expected(example);
  const std::vector<SoftmaxState> local = local_states(example);
  std::vector<SoftmaxState> states = local;
  for (int rank = rank_0_merges_its_own_again ? 0 : 1; rank < ranks; ++rank) {
    for (int hop = 1; hop < ranks; ++hop) {
      states[rank] = softmax_steps::merge(states[rank], local[std::max(0, rank - hop)]);
    }
  }
  return answer_from(example, states);
}

/// Every rank's own state goes to the next at every hop: what arrives is merged, but never passed on.
Answer own_state_every_hop(const Example& example) {
  const std::vector<SoftmaxState> local = local_states(example);
  std::vector<SoftmaxState> states = local;
  for (std::size_t rank = 0; rank < states.size(); ++rank) {
    const SoftmaxState& arrives = local[(rank + states.size() - 1) % states.size()];
    for (std::size_t hop = 1; hop < states.size(); ++hop) {
      states[rank] = softmax_steps::merge(states[rank], arrives);
    }
  }
  return answer_from(example, states);
}

/// What is merged so far goes to the next rank: states that have been counted are counted again.
Answer merged_state_travels(const Example& example) {
  std::vector<SoftmaxState> states = local_states(example);
  for (std::size_t hop = 1; hop < states.size(); ++hop) {
    const std::vector<SoftmaxState> leaving = states;
    for (std::size_t rank = 0; rank < states.size(); ++rank) {
      const SoftmaxState& arrives = leaving[(rank + states.size() - 1) % states.size()];
      states[rank] = softmax_steps::merge(states[rank], arrives);
    }
  }
  return answer_from(example, states);
}

/// What `look` has to say, unless the world's communicator was used, whose ranks are others: then only that.
CommunicationCheck unless_on_the_world(const CommunicationCheck& look) {
  const CommunicationCheck world = checks::without_fact(fact_world, "world_communicator");
  return [=](const Example& example, const Outcome& outcome) {
    return world(example, outcome).empty() ? look(example, outcome) : std::vector<Finding>{};
  };
}

/// The mistake's name is for a rank that is alone: among several, who sends to itself has made another one.
CommunicationCheck sends_nothing_to_itself() {
  return [](const Example& example, const Outcome& outcome) {
    const char* name = example.ranks() == 1 ? "sends_to_itself_alone" : "";
    return checks::without_fact(fact_self_message, name)(example, outcome);
  };
}

bool any_source_in(const Facts& facts) {
  return std::any_of(facts.begin(), facts.end(),
                     [](const auto& fact) { return fact.first == fact_any_source; });
}

/// A source of -1 is what rank 0 computes by mistake; ranks that name any source elsewhere mean to.
CommunicationCheck names_its_sources() {
  return [](const Example& example, const Outcome& outcome) {
    const bool meant = std::count_if(outcome.facts.begin(), outcome.facts.end(), any_source_in) > 1;
    return checks::without_fact(fact_any_source, meant ? "" : "minus_one_is_any_source")(example, outcome);
  };
}

/// In a chain every rank but the last passes a state on to the next.
std::vector<Finding> passes_its_state_on(const Example& example, const Outcome& outcome) {
  if (!checks::traffic_was_measured(outcome)) return {};
  for (int rank = 0; rank + 1 < static_cast<int>(outcome.reports.size()); ++rank) {
    const auto& sent = outcome.reports[rank].bytes_sent_to;
    const auto to_next = sent.find(rank + 1);
    if (to_next != sent.end() && to_next->second > 0) continue;
    const std::string from = "rank " + std::to_string(rank);
    return {{"", from + " sent nothing to rank " + std::to_string(rank + 1) + " of the " +
                     std::to_string(example.ranks()) + " ranks: the state travels a chain"}};
  }
  return {};
}

CommunicationCheck rotates_no_more_than_needed() {
  const auto limit = [](const Example& example, int) { return (example.ranks() - 1) * state_bytes; };
  return checks::sends_at_most(limit, "");
}

CommunicationCheck gathers_nothing() {
  return checks::gathers_at_most([](const Example&, int) { return 0; }, "");
}

bool holds_every_rank(const Example& example, const Deadlock& still) {
  return still.kind == Deadlock::Kind::Cycle && static_cast<int>(still.ranks.size()) == example.ranks();
}

bool waits_for_itself_alone(const Example& example, const Deadlock& still) {
  return example.ranks() == 1 && holds_every_rank(example, still);
}

bool every_rank_sends(const Example& example, const Deadlock& still) {
  return example.ranks() > 1 && still.all_send && holds_every_rank(example, still);
}

bool is_cycle_of_receives(const Example& example, const Deadlock& still) {
  return example.ranks() > 1 && still.all_receive && holds_every_rank(example, still);
}

bool every_rank_receives(const Example& example, const Deadlock& still) {
  return is_cycle_of_receives(example, still) &&
         std::count(still.receives.begin(), still.receives.end(), 0) == std::ssize(still.receives);
}

/// Only rank 0 waits for its first message: those that all other ranks have had show that some do send first,
/// so it is the last rank that does not serve rank 0.
bool last_rank_never_sends(const Example& example, const Deadlock& still) {
  const auto rank_0 = std::find(still.ranks.begin(), still.ranks.end(), 0) - still.ranks.begin();
  return example.ranks() % 2 == 1 && is_cycle_of_receives(example, still) && still.receives[rank_0] == 0 &&
         std::count(still.receives.begin(), still.receives.end(), 0) == 1;
}

Task task(std::string id, std::string function) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"p", {"col"}}, {"lse", {"rank"}}},
          .examples = examples,
          .expected = expected,
          .baseline = baseline,
          .communication_checks = {checks::without_fact(fact_world, "world_communicator"),
                                   unless_on_the_world(sends_nothing_to_itself()),
                                   checks::uses_only_known_calls(),
                                   checks::without_fact(fact_unfinished_request, ""),
                                   checks::deadlocks(waits_for_itself_alone, "sends_to_itself_alone")},
          .split_axis = {{"x", 0}}};
}

}  // namespace

LessonJudge course::lesson_judge() {
  Task chain = task("1", "chain_softmax");
  chain.mistakes = {
      {"result_not_shared", result_not_shared},
      {"result_not_shared", [](const Example& x) { return result_shared_too_late_for("p", x); }},
      {"result_not_shared", [](const Example& x) { return result_shared_too_late_for("lse", x); }},
      {"sends_before_merging", sends_before_merging}};
  chain.communication_checks.push_back(unless_on_the_world(passes_its_state_on));
  chain.communication_checks.push_back(checks::moves_messages_at_most(
      state_bytes, [](int ranks) { return 2 * ranks - 1; }, [](int ranks) { return ranks; }));

  Task rotation = task("2", "rotation_softmax");
  rotation.mistakes = {{"odd_world_size", [](const Example& x) { return odd_world_size(x, false); }},
                       {"odd_world_size", [](const Example& x) { return odd_world_size(x, true); }},
                       {"own_state_every_hop", own_state_every_hop},
                       {"merged_state_travels", merged_state_travels}};
  for (CommunicationCheck& look : std::vector<CommunicationCheck>{
           unless_on_the_world(checks::sends_only_to_next("wrong_direction")),
           unless_on_the_world(names_its_sources()),
           checks::first_of({checks::moves_messages_at_most(
                                 state_bytes, [](int ranks) { return ranks * (ranks - 1); },
                                 [](int ranks) { return ranks; }),
                             rotates_no_more_than_needed()}),
           gathers_nothing(),
           checks::waits_for_its_receives("task 2 asks for blocking MPI_Send and MPI_Recv"),
           checks::deadlocks(every_rank_sends, "every_rank_sends_first"),
           checks::deadlocks(every_rank_receives, "every_rank_receives_first"),
           checks::deadlocks(last_rank_never_sends, "odd_world_size")}) {
    rotation.communication_checks.push_back(std::move(look));
  }
  return {"03", {chain, rotation}};
}
