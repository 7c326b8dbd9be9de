#include "judge/attention/exchange/examples.hpp"

#include <algorithm>

#include "judge/attention/packed/packed.hpp"
#include "ring/shards.hpp"

namespace course::exchange {

namespace {

/// The largest of the registry's worlds.
constexpr int ranks_of_large_heads = 8;

Layout all_on_one(int tokens, int ranks, int rank) {
  std::vector<int> lengths(ranks, 0);
  lengths[rank] = tokens;
  return {lengths};
}

Example attention_of(InputGenerator& generator, const Row& row, Index head_dim, bool causal) {
  Example example = attention_example(generator, row.what + (causal ? "" : ", not causal"), row.layout,
                                      {row.heads, row.kv_heads, head_dim, head_dim}, causal);
  example.less_telling = is_less_telling(row);
  return example;
}

Example backward_example(InputGenerator& generator, Example forward) {
  Example example = grouped::with_gradient(generator, std::move(forward));
  const Ranges queries = ranges_of(example, by_heads), keys = ranges_of(example, by_key_heads);
  for (const auto& [name, ranges] :
       {std::pair{"q", &queries}, {"k", &keys}, {"v", &keys}, {"o", &queries}, {"lse", &queries}}) {
    example.inputs[std::string("kept_") + name] = gathered(example.inputs.at(name), *ranges);
    example.inputs.erase(name);
  }
  return example;
}

}  // namespace

Layout any_layout(InputGenerator& generator, int ranks) {
  std::vector<int> left = unequal_shards(generator, ranks);
  if (ranks > 2) left[1] = 0;
  std::vector<std::vector<Index>> lists(ranks);
  for (Index position = 0, all = total_tokens(left); position < all; ++position) {
    int rank = generator.integer(0, ranks - 1);
    while (left[rank] == 0) rank = (rank + 1) % ranks;
    --left[rank];
    lists[rank].push_back(position);
  }
  return Layout::of(std::move(lists));
}

std::vector<Row> rows(InputGenerator& generator, int ranks) {
  // Groups that the shares of this world cut.
  const Index cut = ranks < 3 || ranks == 4 ? 6
                    : ranks == 8            ? 20
                                            : 2 * (ranks + 2),
              of_cut = ranks < 3 ? 3 : 2;
  const Index key_heads = std::max(1, ranks / 2);
  return {{"equal shards of equal shares", 2 * ranks, ranks, Layout(std::vector<int>(ranks, 3))},
          {"shares that begin inside a group, any layout", cut, of_cut, any_layout(generator, ranks)},
          {"key heads on several ranks, zigzag", 2 * ranks, ranks % 2 == 0 ? key_heads : 1,
           Layout::named("zigzag", 4 * ranks, ranks), true},
          {"fewer heads than ranks, stripes", std::max(1, ranks - 2), 1,
           Layout::named("striped", 2 * ranks + 1, ranks), true},
          {"three tokens, or fewer than ranks, a head a rank", ranks, ranks,
           Layout(even_shards(std::max(3, ranks - 1), ranks))},
          {"a head more than ranks, all tokens on one rank", ranks + 1, ranks + 1,
           all_on_one(7, ranks, ranks / 2)}};
}

bool is_less_telling(const Row& row) {
  const int ranks = row.layout.ranks();
  return row.heads < ranks || row.layout.tokens(ranks / 2) == row.layout.tokens();
}

Example attention_example(InputGenerator& generator, std::string what, const Layout& layout,
                          const grouped::Sizes& sizes, bool causal, Topology topology) {
  Example example = packed::make_example(generator, std::move(what), layout, sizes,
                                         {{0, layout.tokens()}, 0, causal}, {}, {});
  for (const char* none : {"slopes", "sinks"}) example.inputs.erase(none);
  example.topology = topology;
  example.arguments["kv_heads"] = {static_cast<double>(sizes.kv_heads)};
  return with_shares(std::move(example), sizes.heads, sizes.kv_heads);
}

std::vector<Example> with_gradients(InputGenerator& generator, std::vector<Example> forward) {
  for (Example& example : forward) example = backward_example(generator, std::move(example));
  return forward;
}

Example with_whole_heads(const Example& example) {
  Example whole = example;
  whole.worked = nullptr;
  const Ranges keys = ranges_of(example, by_key_heads);
  std::vector<Index> first_copy;
  Index place = 0;
  for (int rank = 0; rank < keys.ranks(); ++rank) {
    for (Index head = keys.first[rank]; head < keys.last[rank]; ++head, ++place)
      if (head == std::ssize(first_copy)) first_copy.push_back(place);
  }
  const auto kept = [&](const char* name) -> const Tensor& {
    return example.inputs.at(std::string("kept_") + name);
  };
  for (const char* name : {"q", "o", "lse"}) whole.inputs[name] = kept(name);
  for (const char* name : {"k", "v"}) whole.inputs[name] = take(kept(name), 0, first_copy);
  return whole;
}

std::vector<Example> forward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  for (const Row& row : rows(generator, ranks))
    all.push_back(attention_of(generator, row, generator.integer(2, 5), all.size() % 4 != 3));
  if (ranks == ranks_of_large_heads) {
    const Row row{"heads of a quarter of a megabyte", 8, 8, Layout(std::vector<int>(ranks, 2))};
    all.push_back(attention_of(generator, row, 4096, true));
    all.back().large = true;
  }
  return all;
}

std::vector<Example> backward_examples(InputGenerator& generator, int ranks) {
  return with_gradients(generator, forward_examples(generator, ranks));
}

}  // namespace course::exchange
