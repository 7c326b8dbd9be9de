#include "judge/softmax/row_softmax.hpp"

using namespace course;

LessonJudge course::lesson_judge() {
  Task softmax = row_softmax::softmax_task("1", "softmax");
  // Task 1 names epsilon_in_denominator, too, which mistakes.md has for task 2 alone: it fails only where the
  // constant is large.
  softmax.of_family = false;
  return {"01", {softmax, row_softmax::logsumexp_task("2", "logsumexp")}};
}
