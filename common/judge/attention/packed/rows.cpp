#include <algorithm>

#include "judge/attention/layouts/layouts.hpp"
#include "judge/attention/packed/packed.hpp"
#include "ring/shards.hpp"

namespace course::packed {

std::vector<RowKind> all_kinds(InputGenerator& generator, int ranks, int shard) {
  const Index n = shard, all = Index{ranks} * n;
  const Index some = generator.integer(2, std::max(2, shard - 1));
  return {
      {"one document", "a window of a shard and one", {{0, all}, n + 1}, true},
      {"one document", "a window of two shards and one", {{0, all}, 2 * n + 1}, true},
      {"a long document between two short ones", "", {{0, 2, all - 1, all}}, false, true},
      {"documents that end with a shard, and one token later", "", {{0, n, std::min(n + 1, all), all}}, true},
      {"documents of one token, and of none", "", {{0, 1, 1, 2, 3, 3, all - 1, all}}},
      {"documents", "not causal", {{0, some, all - 1, all}, 0, false}, true, true},
      {"one document", "a window of one token", {{0, all}, 1}},
      {"a few tokens of padding", "", {{0, std::min(n - 1, all - 3), all - 3}, n}, true},
      {"more padding than a shard", "", {{0, some, std::max(some, all - n - 1)}}, true, true},
      {"two documents", "a window longer than the row", {{0, some, all}, all + 3}, true}};
}

std::vector<Row> rows_on_layouts(InputGenerator& generator, int ranks) {
  std::vector<Row> all;
  // Of few tokens all documents are short, and where a query sees one key gradients cancel.
  const int shard = generator.integer(4, 7) + 8 / ranks - 1, tokens = ranks * shard;
  std::vector<std::pair<std::string, Layout>> others = layouts::all_kinds(generator, tokens, ranks);
  others.erase(others.begin());  // contiguous
  std::size_t turn = 0;
  for (const RowKind& kind : all_kinds(generator, ranks, shard)) {
    const auto add = [&](const std::string& where, const Layout& layout, bool for_rings) {
      all.push_back({kind.in_words() + ", " + where, kind.mask, layout, for_rings});
    };
    add("contiguous", Layout(std::vector<int>(ranks, shard)), kind.at_edges);
    const auto& [name, layout] = others[turn++ % others.size()];
    add(name, layout, !kind.at_edges);
    if (kind.in_zigzag)
      add("each document in zigzag", Layout::documents(kind.mask.starts, tokens, ranks), true);
  }
  std::vector<int> lengths = unequal_shards(generator, ranks);
  lengths.back() += std::max(0, 8 - total_tokens(lengths));
  if (ranks > 1) lengths[1] = 0;
  const Index last = total_tokens(lengths);
  all.push_back({"unequal shards", {{0, last / 3, last}, std::max<Index>(1, last / 2)}, lengths, true});
  return all;
}

}  // namespace course::packed
