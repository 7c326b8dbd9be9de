#include "judge/attention/layouts/parts.hpp"

namespace course::layouts {

namespace {

enum class Shards { Right, FromFirstPosition };
enum class Whole { Right, NotInverse, AsGathered };

struct Reordering {
  Shards shards = Shards::Right;
  Whole whole = Whole::Right;
};

Answer reordered(const Reordering& steps, const Example& example) {
  const Layout layout = layout_of(example);
  const Tensor64 x = cast<double>(example.inputs.at("x"));
  const Tensor64 gathered = cast<double>(example.inputs.at("gathered"));
  std::vector<Tensor64> shards;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    Positions rows = layout.positions(rank);
    if (steps.shards == Shards::FromFirstPosition && !rows.empty())
      rows = from_to(rows.front(), rows.front() + std::ssize(rows));
    shards.push_back(take(x, 1, rows));
  }
  Tensor64 whole = layout.in_order(gathered, 1);
  if (steps.whole == Whole::NotInverse) whole = take(gathered, 1, order_of(layout));
  if (steps.whole == Whole::AsGathered) whole = gathered;
  return {{"shards", concatenate(shards, 1)}, {"whole", std::move(whole)}};
}

std::vector<Example> tensors(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const auto& [tokens, ranks] : {std::pair{24, 3}, {23, 4}, {7, 5}}) {
    for (const auto& [kind, layout] : all_kinds(generator, tokens, ranks)) {
      all.push_back(tensor_example(generator, std::to_string(tokens) + " tokens, " + kind, layout, 2,
                                   generator.integer(2, 5)));
    }
  }
  return all;
}

}  // namespace

Example tensor_example(InputGenerator& generator, std::string what, const Layout& layout, Index heads,
                       Index head_dim) {
  const Shape shape{heads, layout.tokens(), head_dim};
  return {std::move(what),
          {{"x", generator.normal(shape)}, {"gathered", generator.normal(shape)}},
          arguments_of(layout)};
}

Task reorder_task(std::string id, std::string function) {
  return exact_task<Reordering>(
      std::move(id), std::move(function),
      {{"shards", {"head", "row", "col"}, 0, "the shards of shard_rows, one after another"},
       {"whole", {"head", "position", "col"}, 0, "the whole of unshard_rows"}},
      tensors, reordered,
      {{"permutation_not_inverse", {.whole = Whole::NotInverse}},
       {"not_reordered", {.whole = Whole::AsGathered}},
       {"rows_from_first_position", {.shards = Shards::FromFirstPosition}}});
}

}  // namespace course::layouts
