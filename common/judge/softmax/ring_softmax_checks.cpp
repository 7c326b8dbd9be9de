#include "judge/softmax/ring_softmax_checks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "judge/checks/communication_checks.hpp"
#include "judge/softmax/ring_softmax.hpp"

namespace course::ring_softmax {

namespace {

/// On two ranks messages that are twice as long are as many bytes.
bool made_one_hop_more(const Example& example, const Outcome& outcome) {
  return example.ranks() > 2 && std::ranges::all_of(outcome.reports, [&](const RankReport& report) {
           return checks::bytes_sent(report) == example.ranks() * state_bytes;
         });
}

/// In a chain every rank but the last passes a state on to the next.
std::vector<Finding> passes_its_state_on(const Example& example, const Outcome& outcome) {
  if (!checks::traffic_was_measured(outcome)) return {};
  for (int rank = 0; rank + 1 < static_cast<int>(outcome.reports.size()); ++rank) {
    const auto sent = messages_by_peer(outcome.reports[rank].traffic);
    const auto to_next = sent.find(rank + 1);
    if (to_next != sent.end() && to_next->second > 0) continue;
    return {{"", "rank " + std::to_string(rank) + " sent nothing to rank " + std::to_string(rank + 1) +
                     " of the " + std::to_string(example.ranks()) + " ranks: the state travels a chain"}};
  }
  return {};
}

bool any_source_in(const Facts& facts) {
  return checks::first_of_kind(facts, fact_any_source) != nullptr;
}

/// A source of -1 is what rank 0 computes by mistake; ranks that name any source elsewhere mean to.
bool any_source_on_one_rank(const Example&, const Outcome& outcome) {
  return std::ranges::count_if(outcome.facts, any_source_in) <= 1;
}

bool is_whole_ring(const Example& example, const Deadlock& still) {
  return example.ranks() > 1 && still.kind == Deadlock::Kind::Cycle &&
         std::ssize(still.ranks) == example.ranks();
}

bool every_rank_sends(const Example& example, const Deadlock& still) {
  return is_whole_ring(example, still) && still.all_send;
}

/// How many ranks wait for their first message, where all wait for one; else -1.
std::ptrdiff_t without_a_message(const Example& example, const Deadlock& still) {
  const bool all_receive = is_whole_ring(example, still) && still.all_receive;
  return all_receive ? std::ranges::count(still.receives, 0) : -1;
}

bool every_rank_receives(const Example& example, const Deadlock& still) {
  return without_a_message(example, still) == std::ssize(still.receives);
}

/// Only unserved_rank waits for its first message: those that all other ranks have had show that some do send
/// first, so it is the rank before it that does not serve it.
bool one_rank_never_sends(const Example& example, const Deadlock& still) {
  const auto unserved = std::ranges::find(still.ranks, unserved_rank(example)) - still.ranks.begin();
  return example.ranks() % 2 == 1 && without_a_message(example, still) == 1 && still.receives[unserved] == 0;
}

/// A rank waits for its first state from one that has no scores.
std::vector<Finding> empty_state_not_sent(const Example& example, const Outcome& outcome) {
  if (!outcome.deadlock || without_a_message(example, *outcome.deadlock) < 1) return {};
  const std::vector<int>& ranks = outcome.deadlock->ranks;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const int sender = ranks[(i + 1) % ranks.size()];
    if (outcome.deadlock->receives[i] > 0 || example.layout.tokens(sender) > 0) continue;
    return {{"", fmt::format("rank {} has no scores here, and rank {} waits for its state: one that has seen "
                             "nothing is sent like any other",
                             sender, ranks[i])}};
  }
  return {};
}

/// What both are held to, and `looks`, which say nothing where the world's communicator was used: its ranks
/// are others.
std::vector<CommunicationCheck> checks_and(std::vector<CommunicationCheck> looks) {
  using namespace checks;
  looks.push_back(sends_nothing_to_itself("sends_to_itself_alone"));
  return {first_of({without_fact(fact_world, "world_communicator"), all_of(std::move(looks))}),
          uses_only_known_calls(),
          frees_what_it_makes("communicator_not_freed"),
          tells_null_peers,
          stays_in_its_memory(),
          without_fact(fact_overlapping_buffers, ""),
          without_fact(fact_send_buffer_changed, "send_buffer_reused"),
          without_fact(fact_receive_buffer_changed, ""),
          without_fact(fact_unfinished_request, ""),
          deadlocks(waits_for_itself_alone, "sends_to_itself_alone")};
}

}  // namespace

int unserved_rank(const Example& example) {
  return example.topology.direction() > 0 ? 0 : example.ranks() - 1;
}

std::vector<CommunicationCheck> chain_checks() {
  // A state travels to the end, and from there to every rank, one at a time or by one collective call.
  const auto moves_what_it_must = checks::moves_messages_at_most(
      state_bytes, [](int ranks) { return ranks - 1; }, [](int ranks) { return 2 * ranks - 1; },
      [](int ranks) { return ranks; });
  std::vector<CommunicationCheck> all = checks_and({passes_its_state_on});
  all.push_back(moves_what_it_must);
  return all;
}

std::vector<CommunicationCheck> rotation_checks() {
  using namespace checks;
  std::vector<CommunicationCheck> all = checks_and(
      {sends_only_to_next("wrong_direction"),
       named_if(without_fact(fact_any_source, ""), any_source_on_one_rank, "minus_one_is_any_source")});
  const auto messages = [](int ranks) { return ranks * (ranks - 1); };
  const auto moves_what_it_must =
      moves_messages_at_most(state_bytes, messages, messages, [](int ranks) { return ranks; });
  const auto sends_what_it_must =
      sends_at_most([](const Example& x, int) { return (x.ranks() - 1) * state_bytes; }, "");
  all.insert(all.end(), {named_if(first_of({moves_what_it_must, sends_what_it_must}), made_one_hop_more,
                                  "one_hop_too_many"),
                         waits_for_its_receives("the task asks for blocking MPI_Send and MPI_Recv"),
                         gathers_at_most([](const Example&, int) { return 0; }, ""),
                         deadlocks(ring_softmax::every_rank_sends, "every_rank_sends_first"),
                         empty_state_not_sent, deadlocks(every_rank_receives, "every_rank_receives_first"),
                         deadlocks(one_rank_never_sends, "odd_world_size")});
  return all;
}

}  // namespace course::ring_softmax
