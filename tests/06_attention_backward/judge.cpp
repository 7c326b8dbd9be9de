#include "judge/attention/block/block_backward.hpp"
#include "judge/checks/communication_checks.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task all_blocks = block_backward::whole_task("3", "attention_backward");
  all_blocks.examples = block_backward::with_a_long_one;
  all_blocks.communication_checks = {
      checks::uses_memory_at_most(block_backward::memory_limit, "weights_materialised")};
  return {"06",
          {block_backward::rows_task("1", "softmax_backward"),
           block_backward::block_task("2", "block_backward"), all_blocks}};
}
