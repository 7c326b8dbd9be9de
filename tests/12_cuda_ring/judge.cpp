#include <algorithm>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/checks/device_checks.hpp"
#include "judge/checks/nccl_checks.hpp"
#include "protocol/fact_kinds.hpp"
#include "ring/shards.hpp"

using namespace course;
using checks::Hops;

namespace {

// Task 1

Answer ranks_in_order(const Example& example) {
  const int size = example.ranks();
  Tensor64 ranks({size, size});
  for (Index i = 0; i < ranks.size(); ++i) ranks[i] = static_cast<double>(i % size);
  return {{"ranks", ranks}};
}

/// Before it has its communicator, a rank waits for ranks that never come.
bool waits_for_a_communicator(const Example&, const Deadlock& deadlock) {
  return std::ranges::find(deadlock.calls, "ncclCommInitRank") != deadlock.calls.end();
}

CommunicationCheck has_one_id() {
  return checks::deadlocks(waits_for_a_communicator, "id_not_shared");
}

/// A rank has another id than the one that was made, or a part of it.
const checks::DeviceMistake no_id{fact_nccl_call, checks::marked({mark_wrong_id}), "id_not_shared"};

/// What follows from the use of another communicator than the one given is no finding of its own.
CommunicationCheck in_its_world(std::vector<CommunicationCheck> looks) {
  return checks::first_of(
      {checks::without_fact(fact_world, "world_communicator"), checks::all_of(std::move(looks))});
}

Task connect_task() {
  return {.id = "1",
          .function = "connect",
          .outputs = {{"ranks", {"rank", "place"}}},
          .examples =
              [](InputGenerator&, int ranks) {
                return std::vector<Example>{{"a number of each rank", {}, {}, std::vector<int>(ranks, 1)}};
              },
          .expected = ranks_in_order,
          .baseline = ranks_in_order,
          .communication_checks = {in_its_world({has_one_id(), checks::is_right_on_the_device({no_id})})}};
}

// Inputs of the rings: the simulator looks at every access.

/// For the caller the adapter takes a stream that waits for the default one, as those of cudaStreamCreate()
/// do.
Example in_a_waiting_stream(Example example) {
  example.what += ", in a stream that waits for the default one";
  example.arguments["waits_for_default"] = {1};
  return example;
}

/// More numbers than a block of threads may have threads; of many heads, which cost the least.
Example long_shards(InputGenerator& generator, int ranks) {
  const std::vector<int> shards(ranks, 4);
  const int n = total_tokens(shards);
  return ring_forward::make_example("more than 1024 numbers a shard", shards,
                                    random_qkv(generator, 40, n, n, 8));
}

std::vector<Example> forward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = ring_forward::on_all_kinds_of_shards(generator, ranks, 1);
  const std::vector<int> shards = even_shards(2 * ranks + 1, ranks);
  const int n = total_tokens(shards);
  all.push_back(ring_forward::make_example("a row maximum that comes last", shards,
                                           late_maximum_qkv(generator, 2, n, n, 8)));
  all.push_back(in_a_waiting_stream(all.front()));
  return all;
}

std::vector<Example> backward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (Example& forward : ring_forward::on_all_kinds_of_shards(generator, ranks, 2))
    all.push_back(ring_backward::with_gradient(generator, std::move(forward)));
  all.push_back(ring_backward::with_gradient(generator, long_shards(generator, ranks)));
  all.push_back(in_a_waiting_stream(all.front()));
  return all;
}

// What is looked at

/// The last hop of gradients, which has nothing to hide behind.
std::int64_t last_hop(const Example& example, int) {
  return example.ranks() == 1
             ? 0
             : checks::bytes_of_block(example, std::ranges::max(example.layout.shard_tokens()));
}

const checks::FactIs adds_to_a_share = checks::of_call("add_to_"), frees = checks::of_call("cudaFree");

/// The room of the share is cleared, and a kernel of the work adds to it, and nothing orders the two.
std::vector<Finding> clears_in_order(const Example&, const Outcome& outcome) {
  for (const Facts& facts : outcome.facts) {
    for (const Fact& fact : facts) {
      if (fact.kind == fact_missing_dependency && checks::of_call("cudaMemset")(fact) &&
          adds_to_a_share(fact))
        return {checks::finding_of(fact, "cleared_on_another_stream")};
    }
  }
  return {};
}

/// Nothing is read too early but what the last transfer brings, by the caller, who copies dk and dv to the
/// host (gpu/device_tensor.hpp) when the function has returned.
std::vector<Finding> waits_for_its_last_transfer(const Example&, const Outcome& outcome) {
  std::vector<Finding> found;
  for (const Facts& facts : outcome.facts) {
    for (const Fact& fact : facts) {
      if (fact.kind == fact_unrecorded_event || fact.kind == fact_nccl_mismatch) return {};
      if (fact.kind != fact_missing_dependency || frees(fact)) continue;
      if (fact.call != "ncclRecv" || fact.has(mark_one_group) || fact.other_at.file != "device_tensor.hpp" ||
          fact.has(mark_default_stream))
        return {};
      if (found.empty())
        found = {checks::finding_of(
            fact, "",
            fact.text + "; the function has returned, and nothing lets `stream` wait for its last transfer")};
    }
  }
  return found;
}

checks::FactIs but_no_free(checks::FactIs is) {
  return [is = std::move(is)](const Fact& fact) { return is(fact) && !frees(fact); };
}

checks::FactIs called_first(const char* call) {
  return [call](const Fact& fact) { return fact.call == call; };
}

/// From causes to what follows from them: a wait that is none, a message into what the same group uses, what
/// lacks a wait, what lets the device run dry.
CommunicationCheck device_check() {
  using checks::marked, checks::of_call, checks::within;
  return checks::is_right_on_the_device(
      {no_id,
       {fact_nccl_call, {}, ""},
       {fact_unrecorded_event, {}, "waits_before_the_record"},
       {fact_nccl_mismatch, {}, ""},
       {fact_missing_dependency, marked({mark_one_group}), ""},
       {fact_missing_dependency, but_no_free(marked({mark_default_stream})), ""},
       {fact_missing_dependency, but_no_free(called_first("ncclRecv")), "does_not_wait_for_arrival"},
       {fact_missing_dependency, but_no_free(called_first("ncclSend")), "overwrites_what_is_sent"},
       {fact_missing_dependency, but_no_free(of_call("nccl")), "transfer_does_not_wait"},
       {fact_missing_dependency, frees, "freed_too_early"},
       {fact_out_of_bounds, marked({mark_freed}), "freed_too_early"},
       {fact_unwritten_read, adds_to_a_share, "share_not_cleared"},
       {fact_device_wide_wait, within("the ring"), "waits_for_the_device"},
       {fact_host_wait, within("the ring"), "host_waits"},
       {fact_not_destroyed, {}, "handles_left"}});
}

/// What the simulated GPU has found.
CommunicationCheck device_findings() {
  return checks::first_of({clears_in_order, waits_for_its_last_transfer, device_check()});
}

/// MPI has to carry the id, which a rank may send or be sent once for each rank, in whatever messages.
CommunicationCheck little_by_mpi() {
  const auto an_id_each = [](const Example& example, int) -> std::int64_t { return 128 * example.ranks(); };
  return [look = checks::all_of(
              {checks::sends_at_most(an_id_each, ""), checks::gathers_at_most(an_id_each, "")})](
             const Example& example, const Outcome& outcome) {
    std::vector<Finding> found = look(example, outcome);
    for (Finding& finding : found)
      finding.text += ", by MPI, which need only carry the id of 128 bytes to each rank";
    return found;
  };
}

/// Nothing is explained by the numbers where the simulated GPU has found something.
Task with_findings_first(Task task) {
  task.explain = [explain = task.explain, look = device_findings()](const Played& played) {
    return look(*played.example, *played.outcome).empty() ? explain(played) : "";
  };
  return task;
}

std::vector<CommunicationCheck> ring_checks(Hops hops, checks::Limit in_the_open, int gradient_rooms) {
  using namespace checks;
  const auto nothing = [](const Example&, int) -> std::int64_t { return 0; };
  const auto limit = [hops](const Example& example, int) { return bytes_of_hops(hops, example); };
  return {in_its_world(
      {has_one_id(), deadlocks(every_rank_sends, "not_grouped"),
       first_of({device_findings(), hides_its_transfers(std::move(in_the_open))}),
       first_of({of_nccl(named_if(sends_only_to_next(""), sent_only_to_previous, "wrong_direction")),
                 of_nccl(named_if(sends_at_most(limit, ""), sent_one_hop_more(hops, 4), "useless_last_hop")),
                 log_reading::names_the_owners}),
       of_nccl(gathers_at_most(nothing, "")), little_by_mpi(), has_rooms_for(2, gradient_rooms)})};
}

Task forward_task() {
  Task task = ring_forward::task("2", "ring_attention");
  task.examples = forward_examples;
  task.communication_checks = ring_checks(
      checks::forward_hops, [](const Example&, int) -> std::int64_t { return 0; }, 0);
  return with_findings_first(std::move(task));
}

Task backward_task() {
  Task task = ring_backward::task("3", "ring_backward");
  task.examples = backward_examples;
  task.communication_checks = ring_checks(checks::backward_hops, last_hop, 3);
  return with_findings_first(std::move(task));
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"12", {connect_task(), forward_task(), backward_task()}};
}
