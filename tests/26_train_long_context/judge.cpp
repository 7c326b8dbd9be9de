#include "judge/training/training.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task loss = training::loss_task("3", "loss_and_gradients"), run = training::run_task("4", "train");
  run.uses = loss.id;
  return {"26",
          {training::window_task("1", "window"), training::adamw_task("2", "adamw"), std::move(loss),
           std::move(run), training::checkpoint_task("5", "checkpoints")}};
}
