#include "judge/training/training.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks.at(2).hidden_examples = training::hidden_losses;
  judge.tasks.at(3).hidden_examples = training::hidden_runs;
}
