#include "judge/attention/packed/tasks.hpp"
#include "judge/attention/sinks.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task hops = packed::hops_task("4", "hops_needed");
  hops.uses = "3";
  Task ring = packed::ring_task("8", "packed_ring_attention");
  Task ring_backward = packed::ring_backward_task("9", "packed_ring_backward");
  ring.uses = ring_backward.uses = "4";
  return {"16",
          {packed::positions_task("1", "document_positions"), packed::batch_task("2", "packed_batch"),
           packed::ranges_task("3", "key_ranges"), std::move(hops), sinks::slopes_task("5", "alibi_slopes"),
           sinks::join_task("6", "join_sinks"), sinks::gradients_task("7", "sink_gradients"), std::move(ring),
           std::move(ring_backward)}};
}
