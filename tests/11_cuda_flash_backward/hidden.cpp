#include "judge/attention/block/block_backward.hpp"

using namespace course;
using block_backward::LseGradient;

namespace {

/// Any lengths, and blocks in which nobody sees anything.
std::vector<Example> blocks(InputGenerator& generator, int) {
  const int queries = generator.integer(20, 70), keys = generator.integer(40, 70);
  const auto example = [&](std::string what, int head_dim, block_backward::Blocks blocks) {
    return block_backward::drawn_example(generator, std::move(what),
                                         random_qkv(generator, 2, queries, keys, head_dim),
                                         LseGradient::Drawn, blocks);
  };
  return {example("any lengths", 32, {keys, queries}),
          example("any lengths, in blocks", 32, {keys / 2 + 1, queries / 2 + 1, 0}),
          example("a narrow window", 64, {keys, queries, generator.integer(-5, 20), 7}),
          example("no query sees a key", 32, {keys, queries, -queries})};
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks[1].hidden_examples = judge.tasks[2].hidden_examples = blocks;
}
