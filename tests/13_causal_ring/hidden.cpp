#include "judge/attention/block/state_forward.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks.at(2).hidden_examples = state_forward::hidden_range_examples;
  judge.tasks.at(3).hidden_examples = ring_forward::hidden_masked_examples;
  judge.tasks.at(4).hidden_examples = ring_backward::hidden_masked_examples;
}
