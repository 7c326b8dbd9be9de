#include "judge/attention/layouts/layouts.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[0].hidden_examples = layouts::hidden_worlds;
  judge.tasks[1].hidden_examples = layouts::hidden_tensors;
  judge.tasks[2].hidden_examples = layouts::hidden_sequences;
  judge.tasks[3].hidden_examples = layouts::hidden_pairs;
  judge.tasks[4].hidden_examples = layouts::hidden_rings;
  judge.tasks[5].hidden_examples = layouts::hidden_backward_rings;
}
