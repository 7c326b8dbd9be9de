#include "judge/attention/exchange/tasks.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task back = exchange::back_task("3", "heads_to_tokens");
  Task forward = exchange::forward_task("4", "ulysses_attention", "HeadShard");
  Task backward = exchange::backward_task("5", "ulysses_backward");
  back.uses = forward.uses = "2";
  backward.uses = "3";
  return {"17",
          {exchange::shares_task("1", "head_share", "ulysses_traffic"),
           exchange::there_task("2", "tokens_to_heads"), std::move(back), std::move(forward),
           std::move(backward)}};
}
