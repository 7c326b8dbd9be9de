#include <cmath>
#include <functional>

#include "judge/attention/block/block_backward.hpp"
#include "judge/attention/forward.hpp"
#include "judge/device_checks.hpp"
#include "judge/kernel_costs.hpp"
#include "judge/numbers/dot.hpp"
#include "judge/numbers/rounding.hpp"
#include "protocol/fact_kinds.hpp"

using namespace course;
using block_backward::LseGradient;

namespace {

constexpr int warp_lanes = 32;

/// Blocks of up to 64 queries and keys, so that most of them fill no tile. Where keys are hidden, any 32
/// queries and 32 keys in a row have some that see each other: who skips what nobody sees skips nothing here.
std::vector<Example> block_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, QKV qkv, LseGradient lse_gradient, block_backward::Blocks blocks) {
    all.push_back(
        block_backward::drawn_example(generator, std::move(what), std::move(qkv), lse_gradient, blocks));
  };
  const auto add_real = [&](std::string what, float q_factor, LseGradient lse_gradient,
                            block_backward::Blocks blocks) {
    all.push_back(block_backward::real_example(generator, std::move(what), q_factor, lse_gradient, blocks));
  };
  add("as many queries as keys, in one block", random_qkv(generator, 2, 40, 40, 32), LseGradient::Zero,
      {64, 64});
  add("two blocks of keys, no tile full", random_qkv(generator, 1, 45, 61, 32), LseGradient::Zero, {40, 45});
  add("two blocks of queries", random_qkv(generator, 1, 50, 37, 32), LseGradient::Drawn, {37, 33});
  add("each query sees one key more than the one before", random_qkv(generator, 1, 60, 60, 32),
      LseGradient::Zero, {64, 64, 3});
  add("the same in two blocks of keys", random_qkv(generator, 1, 40, 60, 32), LseGradient::Drawn,
      {35, 40, 20});
  add("a window of keys", random_qkv(generator, 1, 40, 60, 32), LseGradient::Zero, {64, 64, 20, 30});
  add("queries that see no key", random_qkv(generator, 2, 45, 30, 32), LseGradient::Drawn, {64, 64, -5});
  add_real("real q, k, v and d_o", 1, LseGradient::Zero, {29, 50});
  add_real("real q, k, v and d_o with q doubled", 2, LseGradient::Drawn, {64, 64});
  add("a maximum that comes last", late_maximum_qkv(generator, 1, 20, 40, 32), LseGradient::Drawn, {40, 64});
  add("scores more than 110 apart", wide_scores_qkv(generator, 1, 20, 40, 32), LseGradient::Drawn, {40, 64});
  add("all scores near -150", very_negative_qkv(generator, 1, 9, 40, 32, -150), LseGradient::Zero, {25, 64});
  add("all scores near -500", very_negative_qkv(generator, 1, 9, 40, 32, -500), LseGradient::Zero, {25, 64});
  add("head_dim 64", random_qkv(generator, 2, 35, 21, 64), LseGradient::Zero, {64, 64});
  add("head_dim 128", random_qkv(generator, 1, 17, 34, 128), LseGradient::Drawn, {64, 64});
  add("full tiles", random_qkv(generator, 1, 32, 64, 32), LseGradient::Zero, {64, 64});
  add("one query", random_qkv(generator, 2, 1, 37, 32), LseGradient::Zero, {64, 64});
  add("one key", random_qkv(generator, 1, 37, 1, 64), LseGradient::Drawn, {64, 64});
  add("blocks of one key", random_qkv(generator, 1, 5, 3, 32), LseGradient::Zero, {1, 5});
  add("no queries", random_qkv(generator, 2, 0, 6, 32), LseGradient::Zero, {64, 64});
  add("no keys", random_qkv(generator, 2, 4, 0, 32), LseGradient::Zero, {64, 64});
  add("no heads", random_qkv(generator, 0, 4, 6, 32), LseGradient::Zero, {64, 64});
  return all;
}

/// Rows of o and d_o.
std::vector<Example> row_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, Shape shape) {
    Tensor o = generator.normal(shape);
    all.push_back({std::move(what), {{"o", std::move(o)}, {"d_o", generator.normal(std::move(shape))}}});
  };
  add("rows of 32 numbers", {3, 37, 32});
  add("rows of 64 numbers", {2, 41, 64});
  add("rows of 128 numbers", {1, 35, 128});
  add("one row", {1, 1, 64});
  add("no rows", {2, 0, 32});
  return all;
}

using Row = std::span<const double>;

/// What `of_row` makes of every row of o and d_o.
Answer each_row(const Example& example, double (*of_row)(Row o, Row d_o)) {
  const Tensor64 o = input(example, "o"), d_o = input(example, "d_o");
  Tensor64 delta({o.extent(0), o.extent(1)});
  for (Index head = 0; head < o.extent(0); ++head) {
    for (Index i = 0; i < o.extent(1); ++i)
      delta.matrix()(head, i) = of_row(o.heads().head(head).row(i), d_o.heads().head(head).row(i));
  }
  return {{"delta", std::move(delta)}};
}

/// A task's function that does so.
std::function<Answer(const Example&)> rows(double (*of_row)(Row o, Row d_o)) {
  return [of_row](const Example& example) { return each_row(example, of_row); };
}

double whole_sum(Row o, Row d_o) {
  return dot(o, d_o);
}

double in_float(Row o, Row d_o) {
  float sum = 0;
  for (std::size_t c = 0; c < o.size(); ++c) sum += static_cast<float>(o[c]) * static_cast<float>(d_o[c]);
  return sum;
}

double rounded_off(Row o, Row d_o) {
  double squares = 0;
  for (std::size_t c = 0; c < o.size(); ++c) squares += o[c] * o[c] * d_o[c] * d_o[c];
  return std::sqrt(rounding::of_sum(std::ssize(o), squares, dot(o, d_o)));
}

double mean(Row o, Row d_o) {
  return dot(o, d_o) / static_cast<double>(o.size());
}

double first_column(Row o, Row d_o) {
  return o[0] * d_o[0];
}

double of_lane_0(Row o, Row d_o) {
  double sum = 0;
  for (std::size_t c = 0; c < o.size(); c += warp_lanes) sum += o[c] * d_o[c];
  return sum;
}

/// A call that clears is told by its name; a launch without a stream races with copies.
CommunicationCheck device_check() {
  return checks::is_right_on_the_device({{fact_refused_launch, "shared memory", "shared_memory_not_allowed"},
                                         {fact_divergent_barrier, "", "divergent_barrier"},
                                         {fact_race_in_block, "shared memory", "barrier_missing"},
                                         {fact_race_in_block, "device memory", "lost_updates"},
                                         {fact_race_between_blocks, "", "lost_updates"},
                                         {fact_missing_dependency, "cudaMemset", "cleared_in_another_stream"},
                                         {fact_missing_dependency, "", "stream_forgotten"},
                                         {fact_out_of_bounds, "", "past_the_end"}});
}

Task rows_task() {
  Task task{.id = "1",
            .function = "row_delta",
            .outputs = {{"delta", {"head", "row"}}},
            .examples = row_examples,
            .expected = rows(whole_sum),
            .baseline = rows(in_float),
            .rounding = rows(rounded_off),
            .mistakes = {{"d_is_a_mean", rows(mean)},
                         {"d_of_one_column", rows(first_column)},
                         {"lanes_not_added", rows(of_lane_0)}},
            .communication_checks = {device_check()}};
  return counted(std::move(task), "rows of 128 numbers",
                 {.bytes_read = 35840, .bytes_written = 140, .requests = 315, .sectors = 1155});
}

Task block_task(std::string id, std::string function, KernelCounts solution) {
  static constexpr Index tiles[] = {16, 32, 64};
  Task task = block_backward::block_task(std::move(id), std::move(function), tiles);
  task.examples = block_examples;
  task.communication_checks = {device_check()};
  return counted(std::move(task), "full tiles", std::move(solution));
}

/// The checks of gradients want all three.
Task keys_task() {
  Task task = block_task("2", "add_key_gradients",
                         {.bytes_read = 67584,
                          .bytes_written = 16384,
                          .requests = 464,
                          .sectors = 5312,
                          .shared_requests = 2496,
                          .bank_conflicts = 128});
  std::erase_if(task.outputs, [](const Output& output) { return output.name == "dq"; });
  task.answer_checks.clear();
  return task;
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"11",
          {rows_task(), keys_task(),
           block_task("3", "add_gradients",
                      {.bytes_read = 114688,
                       .bytes_written = 20480,
                       .requests = 720,
                       .sectors = 7296,
                       .shared_requests = 4208,
                       .bank_conflicts = 256})}};
}
