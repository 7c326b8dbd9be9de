#include "judge/attention/packed/tasks.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks.at(7).hidden_examples = packed::hidden_rings;
  judge.tasks.at(8).hidden_examples = packed::hidden_backward_rings;
}
