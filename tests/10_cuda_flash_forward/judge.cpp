#include <algorithm>

#include "judge/attention/block/state_forward.hpp"
#include "judge/attention/forward.hpp"
#include "judge/checks/device_checks.hpp"
#include "judge/checks/kernel_costs.hpp"
#include "protocol/fact_kinds.hpp"

using namespace course;

namespace {

/// Whether the ranges of all queries are empty, so that no tile of keys is visited.
bool sees_no_key(const Example& example) {
  if (!example.arguments.contains("first")) return false;
  const Index keys = example.inputs.at("k").extent(1);
  const reference::Mask seen = keys_seen(example);
  for (Index query = 0; query < example.inputs.at("q").extent(1); ++query) {
    const auto [first, last] = seen.keys(query);
    if (std::max<Index>(first, 0) < std::min(last, keys)) return false;
  }
  return true;
}

/// Whether there is anything to launch for. finish has o and no q.
bool has_rows(const Example& example) {
  const Shape& shape =
      example.inputs.contains("q") ? example.inputs.at("q").shape() : example.inputs.at("o").shape();
  return shape[0] * shape[1] > 0;
}

/// A launch without threads is a finding. Where there are rows, its grid was rounded down; where there are
/// none, it has no name.
Task played_on_a_device(Task task, std::string counted_example, KernelCounts solution) {
  task.communication_checks = {
      checks::is_right_on_the_device(
          {{fact_refused_launch, "it has no threads", "grid_of_full_tiles", "", has_rows},
           {fact_refused_launch, "bytes of shared memory", "shared_memory_not_allowed"},
           {fact_divergent_barrier, "", "divergent_barrier"},
           {fact_race_in_block, "they overlap", ""},
           {fact_race_in_block, "both write the same value", "many_writers"},
           {fact_race_in_block, "shared memory", "barrier_missing", "no barrier stands within a line"},
           {fact_race_in_block, "device memory", "state_unordered", "", sees_no_key},
           {fact_missing_dependency, "", "stream_forgotten"},
           {fact_out_of_bounds, "before the beginning", "range_not_clamped"},
           {fact_out_of_bounds, "beyond the end", "past_the_end", "shared memory"}}),
      checks::only_launches()};
  for (const char* const cause : {"divergent_barrier", "range_not_clamped", "ragged_block_dropped"})
    task.follows_from.emplace("state_unordered", cause);
  return counted(std::move(task), std::move(counted_example), std::move(solution));
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"10",
          {played_on_a_device(state_forward::finish_task("1", "finish"), "head_dim 128",
                              {.bytes_read = 9216, .bytes_written = 3096, .requests = 102, .sectors = 246}),
           played_on_a_device(state_forward::block_task("2", "attend_block"), "lengths that tiles divide",
                              {.bytes_read = 40960,
                               .bytes_written = 8704,
                               .requests = 304,
                               .sectors = 1536,
                               .shared_requests = 1840,
                               .bank_conflicts = 128}),
           played_on_a_device(state_forward::range_task("3", "attend_range"), "causal ranges",
                              {.bytes_read = 259840,
                               .bytes_written = 19040,
                               .requests = 2064,
                               .sectors = 4900,
                               .shared_requests = 5536,
                               .bank_conflicts = 384})}};
}
