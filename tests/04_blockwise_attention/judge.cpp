#include "judge/attention/block/block_forward.hpp"
#include "judge/checks/communication_checks.hpp"

using namespace course;

namespace {

/// All scores together are more than is allowed. Where they are few, something else is held.
bool scores_are_many(const Example& example, const Outcome&) {
  const Index pairs = example.inputs.at("q").extent(1) * example.inputs.at("k").extent(1);
  return pairs * static_cast<Index>(sizeof(float)) > block_forward::memory_limit(example);
}

}  // namespace

LessonJudge course::lesson_judge() {
  Task all_blocks = block_forward::task("2", "blockwise_attention");
  all_blocks.examples = block_forward::with_a_long_one;
  all_blocks.communication_checks = {checks::named_if(
      checks::uses_memory_at_most(block_forward::memory_limit, ""), scores_are_many, "scores_materialised")};
  return {"04", {block_forward::task("1", "attend_block"), all_blocks}};
}
