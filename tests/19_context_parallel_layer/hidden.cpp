#include "judge/layer/layer.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks.at(2).hidden_examples = layers::hidden_forward;
  judge.tasks.at(3).hidden_examples = layers::hidden_backward;
  judge.tasks.at(4).hidden_examples = layers::hidden_losses;
}
