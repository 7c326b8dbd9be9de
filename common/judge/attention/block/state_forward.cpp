#include "judge/attention/block/state_forward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "judge/attention/block/block_forward.hpp"
#include "judge/attention/block/block_forward_steps.hpp"
#include "judge/attention/block/tile_ranges.hpp"
#include "judge/attention/forward.hpp"
#include "judge/numbers/dot.hpp"

namespace course::state_forward {

namespace {

using block_forward::infinity;
using block_forward::Loop;
using block_forward::ShortTile;

/// The sizes of tiles, of queries and of keys, that are looked for.
constexpr Index tile_sizes[] = {1, 16, 32, 64, 128};

// From a state to o and lse

struct Finish {
  double (*logarithm)(double) = [](double x) { return std::log(x); };
  double m = 1;  ///< what m is multiplied by
  bool divides = true;
  bool nothing_seen_apart = true;
};

template <class T>
Answer finished(const Finish& steps, const Example& example) {
  const TensorOf<T> m = input<T>(example, "m"), l = input<T>(example, "l");
  TensorOf<T> o = input<T>(example, "o"), lse(m.shape());
  const Index head_dim = o.extent(2);
  for (Index row = 0; row < m.size(); ++row) {
    const bool apart = steps.nothing_seen_apart && l[row] == 0;
    // 0 times -inf is no number
    lse[row] =
        (steps.m == 0 ? 0 : static_cast<T>(steps.m) * m[row]) + static_cast<T>(steps.logarithm(l[row]));
    for (Index c = 0; c < head_dim; ++c)
      o[row * head_dim + c] = apart ? 0 : o[row * head_dim + c] / (steps.divides ? l[row] : 1);
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(lse)}};
}

template <class T>
Answer finished_rightly(const Example& example) {
  return finished<T>({}, example);
}

std::vector<Mistake> finish_mistakes() {
  const auto log_2 = [](double x) { return std::log2(x); };
  return mistakes_of(finished<double>, {{"lse_without_m", {.m = 0}},
                                        {"lse_without_log", {.logarithm = [](double x) { return x; }}},
                                        {"lse_base_2", {.logarithm = log_2}},
                                        {"lse_base_2", {.logarithm = log_2, .m = std::numbers::log2e}},
                                        {"final_division_missing", {.divides = false}},
                                        {"nothing_seen_nan", {.nothing_seen_apart = false}}});
}

// What is changed in an example

Example with_changed_ranges(Example example, double first, double last) {
  for (double& key : example.arguments.at("first")) key += first;
  for (double& key : example.arguments.at("last")) key += last;
  return example;
}

Example without_ranges(Example example) {
  example.arguments.erase("first");
  example.arguments.erase("last");
  return example;
}

/// Each query takes the range of the one at its place in the first tile.
Example with_ranges_of_first_queries(Example example, Index tile) {
  for (const char* const name : {"first", "last"}) {
    std::vector<double>& keys = example.arguments.at(name);
    for (std::size_t i = static_cast<std::size_t>(tile); i < keys.size(); ++i) keys[i] = keys[i - tile];
  }
  return example;
}

/// Each query sees what lies of its range in the tiles that its leader's has a part in.
Example with_tiles_of(Example example, Leader leader, Index query_tile, Index key_tile) {
  std::vector<double>& first = example.arguments.at("first");
  std::vector<double>& last = example.arguments.at("last");
  std::vector<KeyRange> own;
  for (std::size_t i = 0; i < first.size(); ++i)
    own.push_back({static_cast<Index>(first[i]), static_cast<Index>(last[i])});
  const Tiling tiling{std::max<Index>(1, std::ssize(own)), query_tile, integer(example, "block"), key_tile};
  const std::vector<KeyRange> seen = seen_in_tiles_of(leader, tiling, own, example.inputs.at("k").extent(1));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    first[i] = static_cast<double>(seen[i].first);
    last[i] = static_cast<double>(seen[i].last);
  }
  return example;
}

/// The inputs k and v as a kernel reads them that takes head h's rows of a block to begin at h * stride.
Example with_head_stride(Example example, const char* name, Index stride) {
  const Tensor given = example.inputs.at(name);
  const Index block = integer(example, "block"), keys = given.extent(1), head_dim = given.extent(2);
  HeadsView<float> read = example.inputs.at(name).heads();
  for (Index head = 0; head < given.extent(0); ++head) {
    for (Index key = 0; key < keys; ++key) {
      const Index first = key / block * block, length = std::min(block, keys - first);
      const Index row = head * stride + key - first;
      for (Index c = 0; c < head_dim; ++c) {
        read(head, key, c) = row < given.extent(0) * length
                                 ? given.heads()(row / length, first + row % length, c)
                                 : std::numeric_limits<float>::quiet_NaN();
      }
    }
  }
  return example;
}

std::vector<Mistake> wrong_heads() {
  std::vector<Mistake> all;
  for (const bool first_head : {false, true}) {
    for (const std::vector<const char*>& names :
         {std::vector{"k", "v"}, std::vector{"k"}, std::vector{"v"}}) {
      all.push_back({"wrong_head", [=](Example example) {
                       const Index stride = first_head ? 0 : example.inputs.at("q").extent(1);
                       for (const char* const name : names)
                         example = with_head_stride(std::move(example), name, stride);
                       return attention_answer<double>(example);
                     }});
    }
  }
  return all;
}

// What is changed in an answer

/// The largest score of the keys from `first` to `last` - 1 that a query sees.
double maximum(const Example& example, Index head, Index query, Index first, Index last) {
  const Tensor64 q = input(example, "q"), k = input(example, "k");
  const reference::KeyRange seen = keys_seen(example).keys(query);
  double m = -infinity;
  for (Index j = std::max(first, seen.first); j < std::min(last, seen.last); ++j)
    m = std::max(m, dot(q.heads().head(head).row(query), k.heads().head(head).row(j)));
  return m / std::sqrt(static_cast<double>(q.extent(2)));
}

/// m is handed on as so many times what it should be.
Answer m_in_units(const Example& example, double unit) {
  Answer answer = attention_answer<double>(example);
  MatrixView<double> lse = answer.at("lse").matrix();
  for (Index head = 0; head < lse.rows(); ++head) {
    for (Index i = 0; i < lse.cols(); ++i) {
      const double m = maximum(example, head, i, 0, example.inputs.at("k").extent(1));
      if (m != -infinity) lse(head, i) += (unit - 1) * m;
    }
  }
  return answer;
}

std::vector<Mistake> wrong_units() {
  const auto root = [](const Example& example) {
    return std::sqrt(static_cast<double>(example.inputs.at("q").extent(2)));
  };
  const auto in = [](std::function<double(const Example&)> unit) {
    return Mistake{"m_in_other_units",
                   [unit](const Example& example) { return m_in_units(example, unit(example)); }};
  };
  return {in(root), in([](const Example&) { return std::numbers::log2e; }),
          in([root](const Example& example) { return root(example) * std::numbers::log2e; })};
}

/// Each block's own o, divided by its l, is merged as if it were not; its l is merged, or is taken for 1.
Answer normalised_blocks(const Example& example, bool l_is_one) {
  const Index keys = example.inputs.at("k").extent(1), block = integer(example, "block");
  Answer answer = attention_answer<double>(example);
  std::ranges::fill(answer["o"].values(), 0.0);
  const auto [heads, queries] = std::pair(answer["o"].extent(0), answer["o"].extent(1));
  Tensor64 l({heads, queries}), m({heads, queries});
  for (Index row = 0; row < m.size(); ++row) m[row] = maximum(example, row / queries, row % queries, 0, keys);
  for (Index first = 0; first < keys; first += block) {
    const Index last = std::min(first + block, keys);
    Example part = example;
    for (const char* const name : {"k", "v"})
      part.inputs[name] = slice(example.inputs.at(name), 1, first, last - first);
    if (example.arguments.contains("first"))
      part = with_changed_ranges(std::move(part), -static_cast<double>(first), -static_cast<double>(first));
    const Answer own = attention_answer<double>(part);
    for (Index row = 0; row < m.size(); ++row) {
      if (own.at("lse")[row] == -infinity) continue;
      const double own_m = maximum(example, row / queries, row % queries, first, last);
      const double weight = std::exp(own_m - m[row]);
      l[row] += l_is_one ? weight : std::exp(own.at("lse")[row] - m[row]);
      for (Index c = 0; c < own.at("o").extent(2); ++c) {
        const Index entry = row * own.at("o").extent(2) + c;
        answer["o"][entry] += weight * own.at("o")[entry];
      }
    }
  }
  for (Index i = 0; i < answer["o"].size(); ++i) {
    const double divisor = l[i / answer["o"].extent(2)];
    if (divisor != 0) answer["o"][i] /= divisor;
  }
  for (Index row = 0; row < m.size(); ++row) answer["lse"][row] = m[row] + std::log(l[row]);
  return answer;
}

/// Queries behind the last whole tile keep the state that they had.
Answer full_tiles_only(const Example& example, Index tile) {
  Answer answer = attention_answer<double>(example);
  const Index queries = answer.at("o").extent(1);
  for (Index head = 0; head < answer.at("o").extent(0); ++head) {
    for (Index i = queries / tile * tile; i < queries; ++i) {
      answer["lse"].matrix()(head, i) = -infinity;
      std::ranges::fill(answer["o"].heads().head(head).row(i), 0.0);
    }
  }
  return answer;
}

// All of them

/// Those that depend on which tiles a tile of queries goes through.
std::vector<WrongSteps<Loop>> wrong_where_hidden(Index query_tile) {
  std::vector<WrongSteps<Loop>> all{{"nothing_seen_nan", {.nothing_seen_apart = false}}};
  for (const double score : {0.0, -1e4, -1e9})
    all.push_back({"hidden_keys_take_part", {.short_tile = ShortTile::PaddedHidden, .hidden_score = score}});
  for (WrongSteps<Loop>& wrong : all) wrong.steps.query_tile = query_tile;
  return all;
}

std::vector<WrongSteps<Loop>> wrong_tiles(Index tile) {
  std::vector<WrongSteps<Loop>> all = block_forward::wrong_loops();
  all.insert(all.end(), {{"ragged_block_dropped", {.short_tile = ShortTile::LeftOut}},
                         {"hidden_keys_take_part", {.short_tile = ShortTile::Padded}}});
  std::ranges::move(wrong_where_hidden(0), std::back_inserter(all));
  for (const Index query_tile : tile_sizes)
    std::ranges::move(wrong_where_hidden(query_tile), std::back_inserter(all));
  for (WrongSteps<Loop>& wrong : all) wrong.steps.tile = tile;
  return all;
}

std::vector<Mistake> known_mistakes() {
  using enum block_forward::Rescale;
  std::vector<Mistake> all = block_forward::scale_mistakes();
  const auto add = [&](std::vector<Mistake> more) { std::ranges::move(more, std::back_inserter(all)); };
  for (const Index tile : tile_sizes) {
    add(mistakes_of(block_forward::run, wrong_tiles(tile)));
    add({{"grid_of_full_tiles", [=](const Example& example) { return full_tiles_only(example, tile); }}});
  }
  add(mistakes_of<Loop>(block_forward::run,
                        {{"state_not_read", {.l = Dropped, .o = Dropped}},
                         {"state_not_read", {.l = Dropped, .o = Dropped, .forgets_running_maximum = true}},
                         {"state_not_read", {.o = Dropped}},
                         {"divided_every_block", {.divide_every_block = true}}}));
  for (const bool l_is_one : {false, true}) {
    add({{"normalised_block_added",
          [=](const Example& example) { return normalised_blocks(example, l_is_one); }}});
  }
  add(wrong_heads());
  add(wrong_units());
  return all;
}

/// Mistakes of ranges: an example of which this would be the right answer.
Mistake seen_as(const char* id, std::function<Example(Example)> change) {
  return {id, [change = std::move(change)](const Example& example) {
            return attention_answer<double>(change(example));
          }};
}

/// Who goes through the queries of a block without keys, too, does arithmetic there with what nobody has
/// seen.
Answer nan_without_keys(const Example& example) {
  Answer answer = block_forward::run({.nothing_seen_apart = false}, example);
  if (example.inputs.at("k").extent(1) > 0) return answer;
  for (auto& [name, output] : answer)
    std::ranges::fill(output.values(), std::numeric_limits<double>::quiet_NaN());
  return answer;
}

std::vector<Mistake> range_mistakes() {
  std::vector<Mistake> all{seen_as("range_ignored", without_ranges)};
  all.push_back({"nothing_seen_nan", nan_without_keys});
  for (const auto& [first, last] : {std::pair{0, 1}, {0, -1}, {1, 0}, {-1, 0}}) {
    all.push_back(seen_as("range_off_by_one", [first = first, last = last](Example example) {
      return with_changed_ranges(std::move(example), first, last);
    }));
  }
  for (const Index tile : tile_sizes) {
    all.push_back(seen_as("range_of_first_queries", [tile](Example example) {
      return with_ranges_of_first_queries(std::move(example), tile);
    }));
    for (const Index key_tile : tile_sizes) {
      for (const Leader leader : {Leader::First, Leader::Last, Leader::Both}) {
        all.push_back(seen_as("tiles_of_one_query", [=](Example example) {
          return with_tiles_of(std::move(example), leader, tile, key_tile);
        }));
      }
    }
  }
  return all;
}

}  // namespace

Task finish_task(std::string id, std::string function) {
  Task made = attention_task(std::move(id), std::move(function));
  made.examples = states;
  made.expected = finished_rightly<double>;
  made.baseline = finished_rightly<float>;
  made.rounding = {};
  made.mistakes = finish_mistakes();
  made.readings = {};  // of q, k and v
  return made;
}

Task block_task(std::string id, std::string function) {
  Task made = attention_task(std::move(id), std::move(function));
  made.examples = examples;
  made.mistakes = known_mistakes();
  made.words = block_forward::words_of_loops();
  made.mistakes_cancel = true;  // log l of one key is 0
  return made;
}

Task range_task(std::string id, std::string function) {
  Task made = block_task(std::move(id), std::move(function));
  made.examples = range_examples;
  std::ranges::move(range_mistakes(), std::back_inserter(made.mistakes));
  return made;
}

}  // namespace course::state_forward
