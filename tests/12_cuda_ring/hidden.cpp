#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "ring/shards.hpp"

using namespace course;

namespace {

// Small, since the simulator looks at every access.

std::vector<Example> forward_examples(InputGenerator& generator, int ranks) {
  const std::vector<int> shards = any_shards(generator, ranks, 1);
  const int n = total_tokens(shards);
  return {ring_forward::make_example("shards of any length", shards,
                                     random_qkv(generator, 3, n, n, generator.integer(2, 9)))};
}

std::vector<Example> backward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (Example& forward : forward_examples(generator, ranks))
    all.push_back(ring_backward::with_gradient(generator, std::move(forward)));
  return all;
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[1].hidden_examples = forward_examples;
  judge.tasks[2].hidden_examples = backward_examples;
}
