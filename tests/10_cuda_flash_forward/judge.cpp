#include <algorithm>
#include <numeric>

#include "judge/attention/block/block_forward.hpp"
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
          {{fact_refused_launch, checks::marked({mark_no_threads}), "grid_of_full_tiles", has_rows},
           {fact_refused_launch, checks::marked({mark_shared_memory}), "shared_memory_not_allowed"},
           {fact_divergent_barrier, {}, "divergent_barrier"},
           {fact_race_in_block, checks::marked({mark_both_write, mark_shared_memory}), ""},
           {fact_race_in_block, checks::marked({mark_same_value}), "many_writers"},
           {fact_race_in_block, checks::marked({mark_shared_memory}, mark_one_line), "barrier_missing"},
           {fact_race_in_block, checks::marked({mark_device_memory}), "state_unordered", sees_no_key},
           {fact_missing_dependency, {}, "stream_forgotten"},
           {fact_out_of_bounds, checks::marked({mark_before_beginning}), "range_not_clamped"},
           {fact_out_of_bounds, checks::marked({mark_beyond_end}, mark_shared_memory), "past_the_end"}}),
      checks::only_launches()};
  for (const char* const cause : {"divergent_barrier", "range_not_clamped", "ragged_block_dropped"})
    task.follows_from.emplace("state_unordered", cause);
  return counted(std::move(task), std::move(counted_example), std::move(solution));
}

/// A causal mask on full tiles. K and V outweigh the ranges here: each thread may read all of its tile's.
Example counted_ranges(InputGenerator& generator, std::string what) {
  constexpr int rows = 64, head_dim = 128;
  const std::vector<int> first(rows, 0);
  std::vector<int> last(rows);
  std::iota(last.begin(), last.end(), 1);
  QKV qkv = random_qkv(generator, 1, rows, rows, head_dim);
  return state_forward::with_ranges(block_forward::make_example(std::move(what), std::move(qkv), rows), first,
                                    last);
}

Task range_task(const char* counted_example) {
  Task task = state_forward::range_task("3", "attend_range");
  task.examples = [=, of_family = task.examples](InputGenerator& generator, int ranks) {
    std::vector<Example> all = of_family(generator, ranks);
    all.push_back(counted_ranges(generator, counted_example));
    return all;
  };
  return task;
}

/// Of tasks 2 and 3: a kernel without tiles reads K and V once for each query.
Task with_tiles(Task task) {
  task.communication_checks.push_back(checks::moves_at_most(
      [most = checks::four_times(task.solution_counts)](const Example&) { return most; }, "no_tiles"));
  return task;
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"10",
          {played_on_a_device(state_forward::finish_task("1", "finish"), "head_dim 128",
                              {.bytes_read = 8192, .bytes_written = 3096, .requests = 94, .sectors = 214}),
           with_tiles(played_on_a_device(state_forward::block_task("2", "attend_block"),
                                         "lengths that tiles divide",
                                         {.bytes_read = 40960,
                                          .bytes_written = 8704,
                                          .requests = 304,
                                          .sectors = 1536,
                                          .shared_requests = 1840,
                                          .shared_passes = 5568,
                                          .bank_conflicts = 128})),
           with_tiles(played_on_a_device(range_task("causal ranges of 128 numbers"),
                                         "causal ranges of 128 numbers",
                                         {.bytes_read = 221184,
                                          .bytes_written = 33280,
                                          .requests = 1472,
                                          .sectors = 6144,
                                          .shared_requests = 5440,
                                          .shared_passes = 15360,
                                          .bank_conflicts = 128}))}};
}
