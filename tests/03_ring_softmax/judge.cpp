#include "judge/softmax/ring_softmax.hpp"
#include "judge/softmax/ring_softmax_checks.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task chain = ring_softmax::chain_task("1", "chain_softmax");
  chain.communication_checks = ring_softmax::chain_checks();
  Task rotation = ring_softmax::rotation_task("2", "rotation_softmax");
  rotation.communication_checks = ring_softmax::rotation_checks();
  return {"03", {chain, rotation}};
}
