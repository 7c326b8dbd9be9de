#include "judge/attention/layouts/layouts.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"

using namespace course;

namespace {

Task forward_ring() {
  Task ring = ring_forward::masked_task("5", "causal_ring_attention");
  ring.examples = layouts::ring_examples;
  ring.communication_checks = ring_forward::blocking_checks();
  return ring;
}

Task backward_ring() {
  Task ring = ring_backward::masked_task("6", "causal_ring_backward");
  ring.examples = layouts::backward_ring_examples;
  ring.communication_checks = ring_backward::blocking_checks(ring);
  return ring;
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"14",
          {layouts::positions_task("1", "positions"), layouts::reorder_task("2", "reorder"),
           layouts::batch_task("3", "batch"), layouts::causal_task("4", "causal"), forward_ring(),
           backward_ring()}};
}
