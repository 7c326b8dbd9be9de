#include "judge/attention/grouped/examples.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks.at(3).hidden_examples = grouped::hidden_rings;
  judge.tasks.at(4).hidden_examples = grouped::hidden_backward_rings;
}
