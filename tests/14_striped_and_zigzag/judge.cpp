#include "judge/attention/layouts.hpp"
#include "judge/task.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  return {"14",
          {layouts::positions_task("1", "positions"), layouts::reorder_task("2", "reorder"),
           layouts::batch_task("3", "batch"), layouts::causal_task("4", "causal")}};
}
