#include "judge/softmax/row_softmax.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task softmax = row_softmax::softmax_task("1", "softmax");
  // mistakes.md has epsilon_in_denominator for task 2 alone, since a small one is right here; a large one has
  // its name here, too.
  softmax.of_family = false;
  return {"01", {softmax, row_softmax::logsumexp_task("2", "logsumexp")}};
}
