#include "judge/attention/block/block_backward.hpp"
#include "judge/attention/block/row_delta.hpp"
#include "judge/checks/device_checks.hpp"
#include "judge/checks/kernel_costs.hpp"
#include "protocol/fact_kinds.hpp"

using namespace course;
using block_backward::LseGradient;

namespace {

/// Most blocks fill no tile. In some examples nobody sees a whole tile.
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
  add("each query sees one key more, in two blocks of keys", random_qkv(generator, 1, 40, 60, 32),
      LseGradient::Drawn, {35, 40, 20});
  add("each query sees one key less than the one before", random_qkv(generator, 1, 45, 60, 32),
      LseGradient::Drawn, {64, 64, 59, 0, -1});
  add("a window of keys", random_qkv(generator, 1, 40, 60, 32), LseGradient::Zero, {64, 64, 20, 30});
  add("70 queries and 100 keys", random_qkv(generator, 1, 70, 100, 32), LseGradient::Zero, {128, 128});
  add("a window of 8 keys for 100 queries", random_qkv(generator, 1, 100, 100, 32), LseGradient::Zero,
      {128, 128, 0, 8});
  add("queries in the middle that see no key", random_qkv(generator, 1, 100, 40, 32), LseGradient::Drawn,
      block_backward::Blocks{.block = 64, .query_block = 128, .first_blind = 30, .end_of_blind = 66});
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
  add("a window of keys, in two blocks of keys", random_qkv(generator, 1, 40, 60, 32), LseGradient::Drawn,
      {35, 40, 20, 30});
  add("head_dim 64, two blocks of queries and two of keys", random_qkv(generator, 1, 40, 44, 64),
      LseGradient::Zero, {30, 25, 4});
  add("head_dim 128, each query sees one key more than the one before", random_qkv(generator, 1, 40, 40, 128),
      LseGradient::Zero, {40, 40, 0});
  add("all scores near -1200", very_negative_qkv(generator, 1, 9, 20, 32, -1200), LseGradient::Zero,
      {20, 64});
  add("windows before and behind blocks of keys", random_qkv(generator, 1, 40, 128, 32), LseGradient::Drawn,
      {64, 40, 50, 5});
  // exp of such a score less lse is infinite: who multiplies it by 0 to hide it makes a NaN.
  add("hidden scores more than 110 above the others", wide_scores_qkv(generator, 1, 20, 40, 32),
      LseGradient::Zero, {40, 64, 5, 0, 2});
  std::ranges::move(block_backward::far_examples(generator, 64), std::back_inserter(all));
  return all;
}

/// A call that clears is told by its name; a launch without a stream races with copies.
CommunicationCheck device_check() {
  return checks::is_right_on_the_device(
      {{fact_refused_launch, checks::marked({mark_shared_memory}), "shared_memory_not_allowed"},
       {fact_divergent_barrier, {}, "divergent_barrier"},
       {fact_race_in_block, checks::marked({mark_one_line}, mark_both_write), "lost_updates"},
       {fact_race_in_block, checks::marked({mark_after_write}, mark_reads), ""},  // arrays that overlap
       {fact_race_in_block, checks::marked({mark_shared_memory}), "barrier_missing"},
       {fact_race_in_block, checks::marked({mark_device_memory}), "lost_updates"},
       {fact_race_between_blocks, {}, "lost_updates"},
       {fact_missing_dependency, checks::of_call("cudaMemset"), "cleared_in_another_stream"},
       {fact_missing_dependency, {}, "stream_forgotten"},
       {fact_out_of_bounds, checks::marked({mark_beyond_end}, mark_shared_memory), "past_the_end"}});
}

Task rows_task() {
  Task task = row_delta::task("1", "row_delta");
  task.communication_checks = {device_check(), checks::only_launches()};
  return counted(std::move(task), "rows of 128 numbers",
                 {.bytes_read = 35840, .bytes_written = 140, .requests = 315, .sectors = 1155});
}

Task block_task(std::string id, std::string function, KernelCounts solution) {
  static constexpr Index tiles[] = {16, 32, 64};
  Task task = block_backward::block_task(std::move(id), std::move(function), tiles);
  task.examples = block_examples;
  task.communication_checks = {device_check(), checks::only_launches()};
  // What clears in another stream overwrites, too.
  for (const char* const overwritten : {"dq_overwritten", "dk_dv_overwritten"})
    task.follows_from.emplace(overwritten, "cleared_in_another_stream");
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
                          .shared_passes = 6656,
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
                       .shared_passes = 11712,
                       .bank_conflicts = 256})}};
}
