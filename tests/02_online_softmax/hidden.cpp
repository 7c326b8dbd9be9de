#include "judge/softmax/online_softmax.hpp"
#include "judge/softmax/output_merge.hpp"
#include "judge/softmax/state_merge.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[0].hidden_examples = state_merge::hidden_examples;
  judge.tasks[1].hidden_examples = online_softmax::hidden_examples;
  judge.tasks[2].hidden_examples = output_merge::hidden_examples;
}
