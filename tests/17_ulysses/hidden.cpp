#include "judge/attention/head_shares.hpp"
#include "judge/attention/layouts/layouts.hpp"

using namespace course;

namespace {

/// Any heads on any layout; q, k and v have one width.
Example any_heads(InputGenerator& generator, int ranks) {
  const Index kv_heads = generator.integer(1, 4), heads = kv_heads * generator.integer(1, 4);
  const std::vector<std::pair<std::string, Layout>> kinds =
      layouts::all_kinds(generator, generator.integer(4, 19), ranks);
  const auto& [what, layout] =
      kinds[static_cast<std::size_t>(generator.integer(0, static_cast<int>(kinds.size()) - 1))];
  const Index width = generator.integer(2, 6);
  return head_shares::attention_example(generator, "any heads, " + what, layout,
                                        {heads, kv_heads, width, width}, generator.integer(0, 2) > 0);
}

std::vector<Example> forward(InputGenerator& generator, int ranks) {
  return {any_heads(generator, ranks), any_heads(generator, ranks)};
}

std::vector<Example> backward(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (Example& example : forward(generator, ranks))
    all.push_back(head_shares::backward_example(generator, std::move(example)));
  return all;
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks.at(3).hidden_examples = forward;
  judge.tasks.at(4).hidden_examples = backward;
}
