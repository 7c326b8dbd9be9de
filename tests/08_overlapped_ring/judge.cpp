#include <algorithm>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/planning/tokens_to_hide.hpp"
#include "judge/task.hpp"
#include "protocol/fact_kinds.hpp"
#include "ring/shards.hpp"

using namespace course;
using checks::Hops;

namespace {

// Inputs of the rings

std::vector<Index> three_real_heads(InputGenerator& generator) {
  return {generator.integer(0, 3), generator.integer(4, 7), generator.integer(8, 11)};
}

/// More tiles in a block than the MPI layer lets tests of a message find nothing: what a test completes
/// shows.
Example many_heads(InputGenerator& generator, int ranks) {
  const int n = 2 * ranks;
  return ring_forward::make_example("20 heads of few tokens", even_shards(n, ranks),
                                    random_qkv(generator, 20, n, n, 2));
}

std::vector<Example> forward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = ring_forward::on_all_kinds_of_shards(generator, ranks, 1);
  const std::vector<int> shards = unequal_shards(generator, ranks);
  const int n = total_tokens(shards);
  const auto add = [&](std::string what, QKV qkv) {
    all.push_back(ring_forward::make_example(std::move(what), shards, std::move(qkv)));
  };
  add("a row maximum that comes last", late_maximum_qkv(generator, 3, n, n, 8));
  add("scores more than 110 apart", wide_scores_qkv(generator, 2, n, n, 6));
  add("scores near -2e4", very_negative_qkv(generator, 2, n, n, 5, -2e4));
  all.push_back(ring_forward::far_example(generator, std::vector<int>(ranks, 3)));
  all.push_back(many_heads(generator, ranks));
  std::ranges::move(ring_forward::with_large_blocks(generator, ranks), std::back_inserter(all));
  return all;
}

std::vector<Example> backward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> forward = ring_forward::on_all_kinds_of_shards(generator, ranks, 2);
  const std::vector<int> shards = even_shards(generator.integer(30, 40), ranks);
  const int n = total_tokens(shards);
  forward.push_back(
      ring_forward::make_example("scores near -150", shards, very_negative_qkv(generator, 2, n, n, 5, -150)));
  forward.push_back(many_heads(generator, ranks));
  std::ranges::move(ring_forward::with_large_blocks(generator, ranks), std::back_inserter(forward));
  std::vector<Example> all;
  for (Example& one : forward) all.push_back(ring_backward::with_gradient(generator, std::move(one)));
  all.push_back(
      ring_backward::real_example(generator, "real q, k, v and d_o", shards, three_real_heads(generator)));
  return all;
}

// CommunicationCheck

/// What is done to buffers that MPI still has. Each may entail those below it. A function that throws leaves
/// requests open, but that is not what is wrong with it.
CommunicationCheck leaves_open_buffers_alone() {
  using namespace checks;
  const CommunicationCheck look =
      first_of({without_fact(fact_unfinished_request, "leaked_request"),
                without_fact(fact_reused_before_wait, "swapped_before_wait"),
                without_fact(fact_overlapping_buffers, "overwrites_the_send_buffer"),
                without_fact(fact_computed_on_arriving, "computes_on_arriving"),
                without_fact(fact_receive_buffer_changed, "computes_on_arriving"),
                without_fact(fact_send_buffer_changed, "overwrites_the_send_buffer"),
                reads_only_what_has_arrived("read_before_wait")});
  return [look](const Example& example, const Outcome& outcome) {
    return outcome.ending == Outcome::Ending::Finished ? look(example, outcome) : std::vector<Finding>{};
  };
}

/// Who leaves empty blocks out has nothing to hide a transfer behind: said only where there are none.
CommunicationCheck hides_its_transfers() {
  using namespace checks;
  const CommunicationCheck look = first_of(
      {without_fact(fact_waited_at_once, "waits_at_once"), without_fact(fact_no_progress, "no_progress")});
  return [look](const Example& example, const Outcome& outcome) {
    const std::vector<int> shards = example.layout.shard_tokens();
    const bool all_work = std::ranges::find(shards, 0) == shards.end();
    return all_work ? look(example, outcome) : std::vector<Finding>{};
  };
}

/// Two more blocks and three of gradients, and as much again for the outputs and what MPI itself takes.
std::int64_t memory_of_the_backward_ring(const Example& example) {
  return checks::memory_of_blocks(example, 2 * (2 + 3));
}

std::vector<CommunicationCheck> ring_checks(Hops hops) {
  using namespace checks;
  const auto limit = [hops](const Example& example, int) { return bytes_of_hops(hops, example); };
  return {first_of({without_fact(fact_world, "world_communicator"),
                    named_if(sends_only_to_next(""), sent_only_to_previous, "wrong_direction"),
                    named_if(sends_at_most(limit, ""), sent_one_hop_more(hops, 4), "useless_last_hop"),
                    log_reading::names_the_owners}),
          uses_no_ended_request("tests_a_copy"),
          tells_shard_lengths,
          uses_only_known_calls(),
          frees_what_it_makes("communicator_not_freed"),
          tells_null_peers,
          stays_in_its_memory(),
          leaves_open_buffers_alone(),
          deadlocks(every_rank_receives_from_next, "receives_from_next"),
          hides_its_transfers(),
          passes_tensors_by_messages(""),
          keeps_empty_ranks("empty_rank_leaves"),
          log_reading::sends_whole_blocks(hops)};
}

Task forward_task() {
  Task task = ring_forward::task("2", "overlapped_ring_attention");
  task.examples = forward_examples;
  task.communication_checks = ring_checks(checks::forward_hops);
  task.communication_checks.push_back(checks::uses_memory_at_most(ring_forward::memory_limit, ""));
  return task;
}

Task backward_task() {
  Task task = ring_backward::task("3", "overlapped_ring_backward");
  task.examples = backward_examples;
  task.communication_checks = ring_checks(checks::backward_hops);
  task.communication_checks.push_back(checks::uses_memory_at_most(memory_of_the_backward_ring, ""));
  task.explain = log_reading::explaining(ring_backward::where_to_look(
      "look at what becomes of their shares, when they are added to what arrives and where the sums go",
      "a share begins at 0, in as many numbers as this block has"));
  task.answer_checks.push_back(ring_backward::begins_shares_at_0);
  task.follows_from.emplace("share_not_cleared", "dk_dv_kept_local");
  return task;
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"08", {tokens_to_hide::task("1", "tokens_to_hide"), forward_task(), backward_task()}};
}
