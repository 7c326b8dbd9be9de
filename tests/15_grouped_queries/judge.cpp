#include "judge/attention/grouped/tasks.hpp"
#include "judge/attention/latent/latent.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task block = grouped::block_task("2", "attend_grouped");
  Task block_backward = grouped::block_backward_task("3", "grouped_backward");
  block.uses = block_backward.uses = "1";
  return {"15",
          {grouped::head_map_task("1", "kv_heads"), std::move(block), std::move(block_backward),
           grouped::ring_task("4", "grouped_ring_attention", "repeated_before_ring"),
           grouped::ring_backward_task("5", "grouped_ring_backward"),
           latent::ring_task("6", "latent_ring_attention", "latent_sent_twice"),
           latent::block_backward_task("7", "latent_block_backward")}};
}
