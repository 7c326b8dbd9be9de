#include "judge/softmax/row_softmax.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  for (Task& task : judge.tasks) task.hidden_examples = row_softmax::hidden_examples;
}
