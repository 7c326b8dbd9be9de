#include "judge/attention/grids/grids.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks.at(1).hidden_examples = grids::hidden_grids;
  judge.tasks.at(2).hidden_examples = grids::hidden_gathers;
  judge.tasks.at(3).hidden_examples = grids::hidden_backward_gathers;
  judge.tasks.at(5).hidden_examples = grids::hidden_double_rings;
}
