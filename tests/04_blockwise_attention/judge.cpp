#include "judge/attention/block/block_forward.hpp"
#include "judge/checks/communication_checks.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task all_blocks = block_forward::task("2", "blockwise_attention");
  all_blocks.examples = block_forward::with_a_long_one;
  all_blocks.communication_checks = {
      checks::uses_memory_at_most(block_forward::memory_limit, "scores_materialised")};
  return {"04", {block_forward::task("1", "attend_block"), all_blocks}};
}
