#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "judge/attention/block/block_forward.hpp"
#include "judge/attention/block/state_forward.hpp"
#include "judge/attention/forward.hpp"

namespace course::state_forward {

namespace {

using block_forward::make_example;
using block_forward::with_zero_queries;

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

Index queries_of(const Example& example) {
  return example.inputs.at("q").extent(1);
}

/// A state of queries of which each has seen something with the probability `seen`.
Example state(InputGenerator& generator, std::string what, Shape shape, double level, double seen) {
  Tensor m({shape[0], shape[1]}), l(m.shape()), o = generator.normal(shape);
  for (Index row = 0; row < m.size(); ++row) {
    const bool has_seen = generator.uniform(0, 1) < seen;
    m[row] = has_seen ? static_cast<float>(level + 5 * generator.normal()) : minus_infinity;
    l[row] = has_seen ? static_cast<float>(std::exp(generator.uniform(0, 7))) : 0.0f;
    for (Index c = 0; c < shape[2]; ++c) o[row * shape[2] + c] *= l[row];
  }
  return {std::move(what), {{"m", std::move(m)}, {"l", std::move(l)}, {"o", std::move(o)}}};
}

Example with_empty_block(Example example) {
  example.arguments["empty_block"] = {1};
  return example;
}

/// Query i sees the last `width` keys up to i.
Example with_window(Example example, int width) {
  std::vector<int> first, last;
  for (int i = 0; i < queries_of(example); ++i) {
    first.push_back(i + 1 - width);
    last.push_back(i + 1);
  }
  return with_ranges(std::move(example), first, last);
}

/// Even queries see all keys, odd ones none.
Example with_every_other(Example example) {
  std::vector<int> first, last;
  for (int i = 0; i < queries_of(example); ++i) {
    first.push_back(0);
    last.push_back(i % 2 == 0 ? static_cast<int>(example.inputs.at("k").extent(1)) : 0);
  }
  return with_ranges(std::move(example), first, last);
}

}  // namespace

Example with_ranges(Example example, const std::vector<int>& first, const std::vector<int>& last) {
  example.arguments["first"] = {first.begin(), first.end()};
  example.arguments["last"] = {last.begin(), last.end()};
  return example;
}

Example with_drawn_ranges(InputGenerator& generator, Example example) {
  const int keys = static_cast<int>(example.inputs.at("k").extent(1));
  std::vector<int> first{0}, last{keys};
  while (std::ssize(first) < queries_of(example)) {
    first.push_back(generator.integer(-3, keys));
    last.push_back(generator.integer(0, keys + 3));
  }
  return with_ranges(std::move(example), first, last);
}

std::vector<Example> states(InputGenerator& generator, int) {
  return {state(generator, "ordinary states", {3, generator.integer(5, 9), 32}, 0, 1),
          state(generator, "queries of which some have seen nothing", {2, 20, 32}, 0, 0.5),
          state(generator, "queries that have seen nothing", {1, 3, 32}, 0, 0),
          state(generator, "maxima near -2e4", {2, 4, 64}, -2e4, 0.8),
          state(generator, "maxima near -1e10", {2, 4, 32}, -0x1p33, 0.8),
          state(generator, "maxima near -1e30", {2, 4, 32}, -0x1p100, 0.8),
          state(generator, "head_dim 128", {2, 3, 128}, 20, 0.8),
          state(generator, "no queries", {2, 0, 32}, 0, 1),
          state(generator, "no heads", {0, 3, 32}, 0, 1)};
}

// Where there are several heads, no block has fewer keys than there are queries: whoever takes the one for
// the other then reads another head's keys, and nothing outside.
namespace {

/// The last key of 12 has all the weight, and of the first blocks some queries see nothing.
Example far_ranges(InputGenerator& generator, std::string what, double score) {
  constexpr Index head_dim = 64;
  Example made = with_ranges(
      make_example(std::move(what),
                   exact_scores_qkv(generator, 4, head_dim, {deciding_scores(12, score).front()}), 4),
      {0, 5, 9, 11}, {12, 12, 12, 12});
  made.less_telling = true;
  return made;
}

std::vector<Example> with_far_ones(InputGenerator& generator, std::vector<Example> all) {
  std::ranges::move(block_forward::far_examples(generator, 64, 64), std::back_inserter(all));
  return all;
}

std::vector<Example> ordinary_examples(InputGenerator& generator) {
  const int keys = generator.integer(39, 44);
  return {make_example("ordinary scores, a shorter last block", random_qkv(generator, 3, 7, keys, 32), 16),
          make_example("a maximum that comes last", late_maximum_qkv(generator, 2, 6, keys, 32), 16),
          make_example("one block of 140 keys", random_qkv(generator, 1, 3, 140, 32), 140),
          make_example("one block of 150 keys, a maximum that comes last",
                       late_maximum_qkv(generator, 1, 9, 150, 32), 150),
          make_example("scores more than 110 apart", wide_scores_qkv(generator, 1, 9, 75, 32), 40),
          make_example("all scores near -20, a shorter last block",
                       very_negative_qkv(generator, 2, 5, keys, 32, -20), 17),
          make_example("all scores near -150", very_negative_qkv(generator, 1, 9, 48, 32, -150), 16),
          make_example("all scores near -2e4", very_negative_qkv(generator, 1, 5, 40, 32, -2e4), 20),
          make_example("real q, k, v with q doubled",
                       minilm_qkv(generator.integer(0, 460), 50, {generator.integer(0, 11)}, 2), 20),
          make_example("head_dim 64", random_qkv(generator, 2, 20, 40, 64), 40),
          make_example("head_dim 128", random_qkv(generator, 1, 10, 40, 128), 24),
          make_example("135 queries", random_qkv(generator, 1, 135, 20, 32), 20),
          make_example("lengths that tiles divide", random_qkv(generator, 1, 64, 64, 32), 64),
          make_example("blocks of one key", random_qkv(generator, 1, 2, 3, 32), 1),
          make_example("no queries", random_qkv(generator, 2, 0, 6, 32), 4),
          make_example("no keys", random_qkv(generator, 2, 4, 0, 32), 4),
          make_example("no heads", random_qkv(generator, 0, 4, 6, 32), 4),
          make_example("queries of zeros", with_zero_queries(random_qkv(generator, 1, 4, 21, 32)), 12),
          with_empty_block(make_example("a block without keys behind the others",
                                        random_qkv(generator, 1, 5, 12, 32), 6))};
}

}  // namespace

std::vector<Example> examples(InputGenerator& generator, int) {
  return with_far_ones(generator, ordinary_examples(generator));
}

namespace {

std::vector<Example> ordinary_range_examples(InputGenerator& generator) {
  const auto drawn = [&](std::string what, QKV qkv, Index block) {
    return with_drawn_ranges(generator, make_example(std::move(what), std::move(qkv), block));
  };
  const int keys = generator.integer(39, 44);
  const int window = generator.integer(5, 20);
  // Mistakes that differ on the first are looked at no further, so a small one is the first.
  return {
      drawn("ranges of any kind", random_qkv(generator, 3, 9, keys, 32), 15),
      with_window(make_example("causal ranges", random_qkv(generator, 1, 70, 70, 32), 40), 70),
      with_window(make_example("a window of " + std::to_string(window) + " keys",
                               random_qkv(generator, 1, 100, 100, 32), 100),
                  window),
      with_every_other(
          make_example("ranges, every other one empty", random_qkv(generator, 2, 7, keys, 32), 16)),
      drawn("ranges, and a maximum that comes last", late_maximum_qkv(generator, 1, 20, 75, 32), 40),
      drawn("ranges, and scores more than 110 apart", wide_scores_qkv(generator, 1, 9, 75, 32), 75),
      drawn("ranges, and all scores near -150", very_negative_qkv(generator, 1, 9, 48, 32, -150), 24),
      drawn("ranges, and all scores near -2e4", very_negative_qkv(generator, 1, 9, 40, 32, -2e4), 40),
      drawn("ranges, head_dim 64", random_qkv(generator, 1, 9, 40, 64), 40),
      drawn("ranges, head_dim 128", random_qkv(generator, 1, 10, 30, 128), 30),
      drawn("135 queries with ranges", random_qkv(generator, 1, 135, 20, 32), 20),
      with_ranges(make_example("ranges that are all empty", random_qkv(generator, 1, 3, 12, 32), 12),
                  {12, 5, -4}, {12, 3, 0}),
      with_ranges(make_example("ranges, and no keys", random_qkv(generator, 1, 2, 0, 32), 4), {0, 0}, {0, 3}),
      with_ranges(make_example("ranges, and no queries", random_qkv(generator, 2, 0, 6, 32), 4), {}, {}),
      with_ranges(make_example("ranges, and no heads", random_qkv(generator, 0, 2, 6, 32), 4), {0, 1},
                  {2, 6}),
      // In a tile that other queries see, these two see nothing yet.
      with_ranges(make_example("ranges that begin late, and all scores near -2e4",
                               very_negative_qkv(generator, 1, 4, 140, 32, -2e4), 140),
                  {0, 130, 135, 0}, {140, 140, 140, 3})};
}

}  // namespace

std::vector<Example> range_examples(InputGenerator& generator, int) {
  std::vector<Example> all = ordinary_range_examples(generator);
  all.push_back(far_ranges(generator, "ranges, and one score near -1e10 far above all others", -0x1p33));
  all.push_back(far_ranges(generator, "ranges, and one score near -2e37, above all others", -0x1p124));
  all.back().far_out = true;
  for (Example& example : block_forward::far_examples(generator, 64, 16)) {
    const int keys = static_cast<int>(example.inputs.at("k").extent(1));
    example.what = "ranges of all keys, and " + example.what;
    all.push_back(with_ranges(std::move(example), {0, 0, 0, 0}, {keys, keys, keys, keys}));
  }
  return all;
}

}  // namespace course::state_forward
