#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "ring/shards.hpp"

using namespace course;

namespace {

std::vector<Example> forward_examples(InputGenerator& generator, int ranks) {
  const std::vector<int> shards = any_shards(generator, ranks, 2);
  const int n = total_tokens(shards);
  return {
      ring_forward::make_example("shards of any length", shards,
                                 random_qkv(generator, 4, n, n, generator.integer(2, 33))),
      ring_forward::make_example("steep scores", shards, random_qkv(generator, 2, n, n, 13, 5)),
      ring_forward::make_example(
          "real input", shards, minilm_qkv(generator.integer(0, 512 - n), n, {generator.integer(0, 11)}, 2))};
}

std::vector<Example> backward_examples(InputGenerator& generator, int ranks) {
  const std::vector<int> shards = any_shards(generator, ranks, 2);
  const int n = total_tokens(shards);
  QKV qkv = random_qkv(generator, 4, n, n, generator.integer(2, 33));
  Tensor d_o = generator.normal(qkv.q.shape());
  return {ring_backward::make_example("shards of any length", shards, std::move(qkv), std::move(d_o))};
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[1].hidden_examples = forward_examples;
  judge.tasks[2].hidden_examples = backward_examples;
}
