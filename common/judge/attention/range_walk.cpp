#include "judge/attention/range_walk.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "judge/attention/block/block_forward.hpp"
#include "judge/attention/block/state_forward.hpp"
#include "judge/attention/forward.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/numbers/compare.hpp"

namespace course::range_walk {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The keys `begin` to `end` - 1, and where in them each query's range lies.
struct Block {
  Index begin, end;
  std::vector<KeyRange> seen;
};

std::vector<Block> blocks_of(const Example& example) {
  const Index keys = example.inputs.at("k").extent(1), length = integer(example, "block");
  const reference::Mask mask = keys_seen(example);
  std::vector<Block> all;
  for (Index begin = 0; begin < keys; begin += length) {
    Block block{begin, std::min(begin + length, keys), {}};
    for (Index i = 0; i < example.inputs.at("q").extent(1); ++i) {
      const KeyRange whole = mask.keys(i);
      const Index first = std::clamp<Index>(whole.first - begin, 0, block.end - begin);
      block.seen.push_back({first, std::clamp<Index>(whole.last - begin, first, block.end - begin)});
    }
    all.push_back(std::move(block));
  }
  return all;
}

bool is_empty(const KeyRange& range) {
  return range.first == range.last;
}

Tensor64 keys_in(const Example& example, const char* name, const Block& block) {
  return cast<double>(slice(example.inputs.at(name), 1, block.begin, block.end - block.begin));
}

/// Takes back what all heads but the first have seen.
void forget_other_heads(reference::Attention<double>& given) {
  const auto rest = [](Tensor64& tensor) {
    return std::span(tensor.values()).subspan(tensor.size() / tensor.extent(0));
  };
  std::ranges::fill(rest(given.o), 0.0);
  std::ranges::fill(rest(given.lse), -infinity);
}

/// In each block nothing is done from the first query on whose range is empty. `for_all`: as by a return,
/// which leaves out the other heads as well; else as by a break, in each head.
Answer ended_at_empty_range(const Example& example, bool for_all) {
  const Tensor64 q = input(example, "q"), none({q.extent(0), 0, q.extent(2)});
  reference::Attention<double> all = reference::attention(q, none, none);
  for (Block& block : blocks_of(example)) {
    const auto end = std::ranges::find_if(block.seen, is_empty);
    const bool ended = end != block.seen.end();
    std::fill(end, block.seen.end(), KeyRange{0, 0});
    reference::Attention<double> given = reference::attention(
        q, keys_in(example, "k", block), keys_in(example, "v", block), reference::Mask::ranges(block.seen));
    if (ended && for_all && q.extent(0) > 1) forget_other_heads(given);
    add_block(all, given);
  }
  return {{"o", std::move(all.o)}, {"lse", std::move(all.lse)}};
}

/// A query that sees no key has the mean of the values of all keys, or of the last block's.
Answer mean_of_hidden(const Example& example, bool of_last_block) {
  Answer answer = attention_answer<double>(example);
  const Tensor64 v = input(example, "v");
  const std::vector<Block> blocks = blocks_of(example);
  if (blocks.empty()) return answer;
  const Index begin = of_last_block ? blocks.back().begin : 0, count = v.extent(1) - begin;
  for (Index head = 0; head < v.extent(0); ++head) {
    for (Index i = 0; i < answer["o"].extent(1); ++i) {
      if (answer["lse"].matrix()(head, i) != -infinity) continue;
      const std::span<double> o = answer["o"].heads().head(head).row(i);
      for (Index key = begin; key < v.extent(1); ++key) {
        for (std::size_t c = 0; c < o.size(); ++c)
          o[c] += v.heads()(head, key, static_cast<Index>(c)) / static_cast<double>(count);
      }
    }
  }
  return answer;
}

std::vector<Mistake> known_mistakes() {
  std::vector<Mistake> all;
  for (const bool face : {false, true}) {
    all.push_back({"ended_at_empty_range",
                   [face](const Example& example) { return ended_at_empty_range(example, face); }});
    all.push_back(
        {"weight_of_hidden_key", [face](const Example& example) { return mean_of_hidden(example, face); }});
  }
  return all;
}

/// The first row in which an output is wrong.
std::optional<Index> first_wrong_row(const Played& played) {
  std::optional<Index> first;
  for (const auto& [output, answer] : played.answer) {
    const Tensor64& expected = played.expected.at(output);
    const double tolerance = played.tolerance.at(output);
    if (relative_error(answer, expected) <= tolerance) continue;
    const std::vector<double> off = off_by(answer, expected, tolerance);
    const Index rows = expected.extent(1), columns = expected.rank() > 2 ? expected.extent(2) : 1;
    for (Index entry = 0; entry < expected.size(); ++entry) {
      const Index row = entry / columns % rows;
      if (off[entry] > tolerance && (!first || row < *first)) first = row;
    }
  }
  return first;
}

/// "row 40 is the first wrong one; its ranges, block by block: {0, 40}, {0, 1}"
std::string ranges_of_first_wrong_row(const Played& played) {
  const std::optional<Index> row = first_wrong_row(played);
  if (!row) return "";
  std::vector<std::string> ranges;
  for (const Block& block : blocks_of(*played.example))
    ranges.push_back(fmt::format("{{{}, {}}}", block.seen[*row].first, block.seen[*row].last));
  return fmt::format("row {} is the first wrong one; its ranges, block by block: {}", *row,
                     fmt::join(ranges, ", "));
}

/// One head in blocks of `block` keys, whose scores are these for every query that sees them.
Example with_scores(InputGenerator& generator, std::string what, const std::vector<float>& scores,
                    Index block, const std::vector<int>& first, const std::vector<int>& last) {
  QKV qkv = random_qkv(generator, 1, std::ssize(first), std::ssize(scores), 4);
  const MatrixView<float> q = qkv.q.heads().head(0), k = qkv.k.heads().head(0);
  for (Index i = 0; i < q.rows(); ++i) {
    std::ranges::fill(q.row(i), 0.0f);
    q(i, 0) = 2;  // sqrt(head_dim)
  }
  for (Index j = 0; j < k.rows(); ++j) k(j, 0) = scores[static_cast<std::size_t>(j)];
  return state_forward::with_ranges(block_forward::make_example(std::move(what), std::move(qkv), block),
                                    first, last);
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all = state_forward::range_examples(generator, ranks);
  const auto add = [&](std::string what, const std::vector<float>& scores, Index block,
                       const std::vector<int>& first, const std::vector<int>& last) {
    all.push_back(with_scores(generator, std::move(what), scores, block, first, last));
  };
  add("several blocks, of which the first has scores 116 above the others", {120, 119, 0, 1, 2, 3}, 2,
      {0, 2, 0}, {6, 6, 4});
  add("several blocks, of which the last has scores 116 above the others", {0, 1, 2, 3, 120, 119}, 2,
      {0, 0, 2}, {6, 4, 6});
  add("a hidden key whose score is 196 above those seen", {0, 1, 200, 2, 3, 4}, 3, {0, 3, 1}, {2, 6, 2});
  add("several blocks, some hidden, and all scores near -2e4",
      {-20000, -20001, -19999, -20002, -20000, -19998}, 2, {4, 0, 2, 0}, {6, 2, 4, 6});
  return all;
}

}  // namespace

Task task(std::string id, std::string function) {
  Task made = state_forward::range_task(std::move(id), std::move(function));
  made.examples = examples;
  std::ranges::move(known_mistakes(), std::back_inserter(made.mistakes));
  made.explain = ranges_of_first_wrong_row;
  return made;
}

}  // namespace course::range_walk
