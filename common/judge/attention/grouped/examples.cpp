#include "judge/attention/grouped/examples.hpp"

#include <algorithm>
#include <iterator>

#include "ring/shards.hpp"

namespace course::grouped {

namespace {

/// One head of a group scores far below all others, and its partner far above: lse is near -150 and +20.
Example apart_in_a_group(InputGenerator& generator, std::string what, const Layout& layout) {
  Example example = make_example(generator, std::move(what), layout, {4, 2, 4, 3});
  const double scale = example.arguments.at("scale").front();
  for (Index head = 0; head < 4; ++head) {
    for (Index i = 0; i < layout.tokens(); ++i) {
      example.inputs["q"].heads()(head, i, 0) = static_cast<float>((head % 2 == 0 ? -15 : 2) / scale);
      if (head < 2) example.inputs["k"].heads()(head, i, 0) = 10;
    }
  }
  return example;
}

/// The last key of one key head is `above` the others, for one query head of the group that shares it.
Example late_in_one_head(InputGenerator& generator, std::string what, const Layout& layout, float above) {
  Example example = make_example(generator, std::move(what), layout, {6, 2, 4, 4});
  const double scale = example.arguments.at("scale").front();
  const Index last = layout.tokens() - 1;
  example.inputs["k"].heads()(1, last, 0) = above;
  for (Index i = 0; i <= last; ++i) example.inputs["q"].heads()(4, i, 0) = static_cast<float>(1 / scale);
  return example;
}

}  // namespace

std::vector<Example> on_all_kinds_of_heads(InputGenerator& generator, const std::vector<Layout>& layouts,
                                           bool for_gradients) {
  const auto layout = [&](std::size_t i) { return layouts[i % layouts.size()]; };
  const auto add = [&](const char* what, std::size_t i, const Sizes& sizes) {
    return make_example(generator, what, layout(i), sizes);
  };
  return {add("6 query heads, 2 key heads", 0, {6, 2, 4, 4}),
          add("6 query heads, 3 key heads, values narrower than keys", 1, {6, 3, 5, 2}),
          add("8 query heads, 2 key heads, values wider than keys", 2, {8, 2, 3, 7}),
          add("5 query heads, 1 key head", 3, {5, 1, 4, 3}),
          add("7 query heads, 7 key heads", 4, {7, 7, 3, 3}),
          add("14 query heads, 2 key heads", 5, {14, 2, 2, 5}),
          apart_in_a_group(generator, "scores near -150 and +20 in one group", layout(0)),
          late_in_one_head(generator, "a maximum that comes last in one head of a group", layout(1),
                           for_gradients ? 4 : 30)};
}

Layout of_one_rank(int tokens) {
  return {std::vector<int>{tokens}};
}

std::vector<Layout> all_kinds_of_shards(InputGenerator& generator, int ranks) {
  std::vector<int> with_an_empty_one(ranks, 5);
  if (ranks > 1) with_an_empty_one[1] = 0;
  if (ranks > 2) with_an_empty_one[2] = 4;
  return {Layout(std::vector<int>(ranks, generator.integer(3, 5))), Layout(with_an_empty_one),
          Layout(unequal_shards(generator, ranks)), Layout(std::vector<int>(ranks, 2))};
}

std::vector<Example> with_large_blocks(InputGenerator& generator, int ranks, Index heads) {
  if (ranks != ranks_of_large_blocks) return {};
  Example example = make_example(generator, "blocks of a quarter of a megabyte",
                                 Layout(std::vector<int>(ranks, 4)), {heads, 1, 16384, 16});
  example.large = true;
  return {std::move(example)};
}

std::vector<Example> with_gradients(InputGenerator& generator, std::vector<Example> forward) {
  for (Example& example : forward) example = with_gradient(generator, std::move(example));
  return forward;
}

namespace {

std::vector<Example> rings_of_heads(InputGenerator& generator, int ranks, bool for_gradients) {
  std::vector<Example> all =
      on_all_kinds_of_heads(generator, all_kinds_of_shards(generator, ranks), for_gradients);
  std::ranges::move(with_large_blocks(generator, ranks, 16), std::back_inserter(all));
  return all;
}

}  // namespace

std::vector<Example> ring_examples(InputGenerator& generator, int ranks) {
  return rings_of_heads(generator, ranks, false);
}

std::vector<Example> backward_ring_examples(InputGenerator& generator, int ranks) {
  return with_gradients(generator, rings_of_heads(generator, ranks, true));
}

}  // namespace course::grouped
