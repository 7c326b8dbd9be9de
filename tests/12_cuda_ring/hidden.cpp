#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "ring/shards.hpp"

using namespace course;

namespace {

// Small, since the simulator looks at every access.

Example example(InputGenerator& generator, const std::vector<int>& shards) {
  const int n = total_tokens(shards);
  return ring_forward::make_example("shards of any length", shards,
                                    random_qkv(generator, 3, n, n, generator.integer(2, 9)));
}

std::vector<Example> forward_examples(InputGenerator& generator, int ranks) {
  return {example(generator, any_shards(generator, ranks, 1))};
}

/// Of two tokens at least: with a single one dq and dk are exactly 0, and a right float32 answer is not.
std::vector<Example> backward_examples(InputGenerator& generator, int ranks) {
  return {ring_backward::with_gradient(generator, example(generator, any_shards(generator, ranks, 2)))};
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[1].hidden_examples = forward_examples;
  judge.tasks[2].hidden_examples = backward_examples;
}
