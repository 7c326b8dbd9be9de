#include "judge/attention/block/block_backward.hpp"
#include "judge/attention/block/block_forward.hpp"

using namespace course;

namespace {

QKV any_sizes(InputGenerator& generator) {
  const Index d = 4 * generator.integer(1, 40);
  return random_qkv(generator, generator.integer(1, 2), generator.integer(1, 120), generator.integer(2, 200),
                    d);
}

std::vector<Example> forward(InputGenerator& generator, int) {
  return {block_forward::make_example("any sizes", any_sizes(generator), generator.integer(1, 150))};
}

std::vector<Example> backward(InputGenerator& generator, int) {
  using namespace block_backward;
  return {drawn_example(generator, "any sizes", any_sizes(generator), LseGradient::Drawn,
                        {.block = generator.integer(1, 150), .query_block = generator.integer(1, 100)})};
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks.at(2).hidden_examples = forward;
  judge.tasks.at(3).hidden_examples = backward;
}
