#include "judge/attention/layouts.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[0].hidden_examples = layouts::hidden_worlds;
  judge.tasks[1].hidden_examples = layouts::hidden_tensors;
  judge.tasks[2].hidden_examples = layouts::hidden_sequences;
  judge.tasks[3].hidden_examples = layouts::hidden_pairs;
}
