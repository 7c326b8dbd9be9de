#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "judge/checks/device_checks.hpp"
#include "judge/checks/kernel_costs.hpp"
#include "judge/softmax/row_softmax.hpp"
#include "protocol/fact_kinds.hpp"

using namespace course;

namespace {

constexpr int warp_lanes = 32;
constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

using Row = std::span<const float>;

/// Rows that fill no warp or block, those that just do, and one entry more; rows longer than any block, and
/// more of them than one block has warps.
std::vector<Example> edges_of_warps(InputGenerator& generator) {
  std::vector<Example> examples;
  for (const int cols : {1, 31, 32, 33, 255, 256, 257, 1000}) {
    examples.push_back(row_softmax::make_example("rows of " + std::to_string(cols) + " entries",
                                                 score_rows(generator, 3, cols)));
  }
  examples.push_back(row_softmax::make_example("rows of 2500 entries", score_rows(generator, 2, 2500)));
  examples.push_back(row_softmax::make_example("70 rows", score_rows(generator, 70, 5)));
  return examples;
}

/// Rows of 1000 entries whose last few decide: one is so large that exp overflows without it, or nothing else
/// is unmasked.
Example decided_by_the_last(InputGenerator& generator) {
  Tensor x = score_rows(generator, 4, 1000);
  x.matrix()(0, 999) = 120;
  std::ranges::fill(x.matrix().row(1).first(998), minus_infinity);
  return row_softmax::make_example("rows whose last entries decide", std::move(x));
}

/// The lse that lane 0 finds when each lane subtracts the maximum that shuffles down have left it.
float lse_of_lane_0(Row scores) {
  std::array<float, warp_lanes> m;
  m.fill(minus_infinity);
  for (std::size_t j = 0; j < scores.size(); ++j) m[j % warp_lanes] = std::max(m[j % warp_lanes], scores[j]);
  for (int distance = warp_lanes / 2; distance > 0; distance /= 2) {
    for (int lane = 0; lane + distance < warp_lanes; ++lane) m[lane] = std::max(m[lane], m[lane + distance]);
  }
  float l = 0;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (const float of_lane = m[j % warp_lanes]; of_lane != minus_infinity)
      l += std::exp(scores[j] - of_lane);
  }
  return m[0] + std::log(l);
}

float lse_of(Row scores) {
  float m = minus_infinity, l = 0;
  for (const float score : scores) m = std::max(m, score);
  for (const float score : scores) l += m == minus_infinity ? 0 : std::exp(score - m);
  return m + std::log(l);
}

/// A row's lse without what follows its last whole stretch.
float lse_of_whole_stretches(Row scores, std::size_t stretch) {
  return lse_of(scores.first(scores.size() / stretch * stretch));
}

Answer each_lse(const Example& example, const std::function<float(Row)>& lse_of_row) {
  const Tensor& x = example.inputs.at("x");
  Tensor lse({x.extent(0)});
  for (Index row = 0; row < x.extent(0); ++row) lse[row] = lse_of_row(x.matrix().row(row));
  return {{"lse", cast<double>(lse)}};
}

/// p if every warp of a block of so many threads divides by its own sum; the maximum subtracted is its own,
/// too, or the row's.
Answer softmax_of_each_warp(const Example& example, int threads, bool own_maximum) {
  const Tensor& x = example.inputs.at("x");
  Tensor p(x.shape());
  const auto warp_of = [=](Index col) { return col % threads / warp_lanes; };
  for (Index row = 0; row < x.extent(0); ++row) {
    const Row scores = x.matrix().row(row);
    std::vector<float> m(threads / warp_lanes, minus_infinity), l(m.size());
    for (Index j = 0; j < x.extent(1); ++j) m[warp_of(j)] = std::max(m[warp_of(j)], scores[j]);
    if (!own_maximum) std::ranges::fill(m, std::ranges::max(m));
    const auto weight = [&](Index j) { return std::exp(scores[j] - m[warp_of(j)]); };
    for (Index j = 0; j < x.extent(1); ++j) l[warp_of(j)] += weight(j);
    for (Index j = 0; j < x.extent(1); ++j)
      p.matrix()(row, j) = m[warp_of(j)] == minus_infinity ? 0 : weight(j) / l[warp_of(j)];
  }
  return {{"p", cast<double>(p)}};
}

/// A thread that has returned at a value which it read too early is no barrier in the wrong place.
CommunicationCheck device_check() {
  return checks::is_right_on_the_device(
      {{fact_divergent_barrier, checks::marked({mark_other_barrier}), "divergent_barrier"},
       {fact_race_in_block, checks::marked({mark_same_value}), "many_writers"},
       {fact_race_in_block, checks::marked({mark_both_write, mark_one_line}), "many_writers"},
       {fact_race_in_block, {}, "barrier_missing"},
       {fact_race_between_blocks, {}, "block_index_forgotten"},
       {fact_divergent_barrier, {}, "divergent_barrier"},
       {fact_absent_lane, checks::marked({mark_unnamed}), "half_a_mask"},
       {fact_absent_lane, checks::marked({mark_waits}), "shuffle_in_the_loop"},
       {fact_absent_lane, checks::marked({mark_returned}), "shuffle_in_the_loop"},
       {fact_missing_dependency, {}, "stream_forgotten"},
       {fact_out_of_bounds, checks::marked({mark_beyond_end}, mark_shared_memory), "past_the_row"}});
}

/// Of a right answer; `results`: the numbers that it writes.
checks::ByteLimit eight_times(const Example& example, Index results) {
  const auto numbers = static_cast<std::int64_t>(example.inputs.at("x").size() + results);
  return {8 * numbers * static_cast<std::int64_t>(sizeof(float)),
          "eight times as many as x and the result have"};
}

checks::ByteLimit limit_of_logsumexp(const Example& example) {
  return eight_times(example, example.inputs.at("x").extent(0));
}

checks::ByteLimit limit_of_softmax(const Example& example) {
  return eight_times(example, example.inputs.at("x").size());
}

Task played_on_a_device(Task task, checks::ByteLimit (*limit)(const Example&), KernelCounts solution) {
  task.communication_checks = {device_check(), checks::only_launches(),
                               checks::moves_at_most(limit, "row_not_shared"),
                               checks::asks_in_full_warps(limit, "row_of_one_thread")};
  task.examples = [of_family = task.examples](InputGenerator& generator, int ranks) {
    std::vector<Example> all = of_family(generator, ranks);
    std::ranges::move(edges_of_warps(generator), std::back_inserter(all));
    all.push_back(decided_by_the_last(generator));
    return all;
  };
  return counted(std::move(task), "rows of 1000 entries", std::move(solution));
}

Task logsumexp_task() {
  Task task = played_on_a_device(row_softmax::logsumexp_task("1", "logsumexp"), limit_of_logsumexp,
                                 {.bytes_read = 24000, .bytes_written = 12, .requests = 195, .sectors = 753});
  task.mistakes.push_back(
      {"lane_0_only", [](const Example& example) { return each_lse(example, lse_of_lane_0); }});
  for (const std::size_t stretch : {32, 64, 128}) {
    task.mistakes.push_back({"tail_dropped", [stretch](const Example& example) {
                               return each_lse(example, [stretch](Row scores) {
                                 return lse_of_whole_stretches(scores, stretch);
                               });
                             }});
  }
  return task;
}

Task softmax_task() {
  Task task = played_on_a_device(row_softmax::softmax_task("2", "softmax"), limit_of_softmax,
                                 {.bytes_read = 36000,
                                  .bytes_written = 12000,
                                  .requests = 384,
                                  .sectors = 1500,
                                  .shared_requests = 432,
                                  .shared_passes = 432});
  for (const int threads : {64, 128, 256, 512, 1024}) {
    for (const bool own_maximum : {false, true}) {
      task.mistakes.push_back({"own_warp_only", [=](const Example& example) {
                                 return softmax_of_each_warp(example, threads, own_maximum);
                               }});
    }
  }
  return task;
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"09", {logsumexp_task(), softmax_task()}};
}
