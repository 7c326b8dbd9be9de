#include "judge/attention/grouped.hpp"
#include "ring/shards.hpp"

using namespace course;

namespace {

/// Any sizes: as many query heads a key head as are drawn, values of any width.
Example any_heads(InputGenerator& generator, const char* what, const Layout& layout) {
  const int kv_heads = generator.integer(1, 4), group = generator.integer(1, 4);
  return grouped::make_example(
      generator, what, layout,
      {kv_heads * group, kv_heads, generator.integer(1, 6), generator.integer(1, 6)});
}

std::vector<Example> in_rings(InputGenerator& generator, int ranks) {
  return {any_heads(generator, "any heads", Layout(unequal_shards(generator, ranks))),
          any_heads(generator, "any heads, equal shards", Layout(std::vector<int>(ranks, 3)))};
}

std::vector<Example> backward_in_rings(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (Example& forward : in_rings(generator, ranks))
    all.push_back(grouped::with_gradient(generator, std::move(forward)));
  return all;
}

}  // namespace

void course::add_hidden_examples(LessonJudge& judge) {
  judge.tasks.at(3).hidden_examples = in_rings;
  judge.tasks.at(4).hidden_examples = backward_in_rings;
}
