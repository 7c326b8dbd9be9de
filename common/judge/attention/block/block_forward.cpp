#include "judge/attention/block/block_forward.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>

#include "judge/attention/block/block_forward_steps.hpp"
#include "judge/attention/forward.hpp"
#include "reference/reference.hpp"

namespace course::block_forward {

namespace {

Index keys_of(const Example& example) {
  return example.inputs.at("k").extent(1);
}
Index head_dim_of(const Example& example) {
  return example.inputs.at("q").extent(2);
}

Answer answer_to(const Tensor64& q, const Tensor64& k, const Tensor64& v, const reference::Mask& mask = {}) {
  const reference::Attention<double> attention = reference::attention(q, k, v, mask);
  return {{"o", attention.o}, {"lse", attention.lse}};
}

/// The answer when only keys first .. first + count - 1 are seen.
Answer answer_from_keys(const Example& example, Index first, Index count) {
  return answer_to(input(example, "q"), slice(input(example, "k"), 1, first, count),
                   slice(input(example, "v"), 1, first, count));
}

void multiply(Tensor64& tensor, double factor) {
  for (double& value : tensor.values()) value *= factor;
}

// Where the scale goes

/// The scores are q k^T times head_dim to this power, where -1/2 is right.
Answer with_scale(const Example& example, double power) {
  Tensor64 q = input(example, "q");
  multiply(q, std::pow(static_cast<double>(head_dim_of(example)), power + 0.5));
  return answer_to(q, input(example, "k"), input(example, "v"), keys_seen(example));
}

Answer without_scale(const Example& example) {
  return with_scale(example, 0);
}

Answer scale_on_output(const Example& example) {
  Answer wrong = without_scale(example);
  multiply(wrong["o"], 1 / std::sqrt(static_cast<double>(head_dim_of(example))));
  return wrong;
}

/// The weights are scaled before they are summed: the scale cancels in o and shifts lse.
Answer scale_on_weights(const Example& example) {
  Answer wrong = without_scale(example);
  for (double& lse : wrong["lse"].values()) lse -= 0.5 * std::log(static_cast<double>(head_dim_of(example)));
  return wrong;
}

/// Each block's own attention, added with weight 1, 1 / blocks or keys in the block / keys; the lse is right
/// or that of the last block.
enum class BlockWeight { One, Mean, ByKeys };

Answer blocks_normalised(const Example& example, BlockWeight weight, bool last_lse) {
  Answer wrong = attention_answer<double>(example);
  if (keys_of(example) == 0) return wrong;
  multiply(wrong["o"], 0);
  const Index block = integer(example, "block");
  const Index keys = keys_of(example);
  for (Index first = 0; first < keys; first += block) {
    const Index count = std::min(block, keys - first);
    const Answer part = answer_from_keys(example, first, count);
    double factor = 1;
    if (weight == BlockWeight::Mean) factor = 1 / static_cast<double>((keys + block - 1) / block);
    if (weight == BlockWeight::ByKeys) factor = static_cast<double>(count) / static_cast<double>(keys);
    for (Index i = 0; i < wrong["o"].size(); ++i) wrong["o"][i] += factor * part.at("o")[i];
    if (last_lse) wrong["lse"] = part.at("lse");
  }
  return wrong;
}

// The last block, and no block at all

/// `tensor` [heads, keys, d] with keys of zeros up to a multiple of `block`.
Tensor64 padded(const Tensor64& tensor, Index block) {
  const Index missing = (block - tensor.extent(1) % block) % block;
  return concatenate<double>({tensor, Tensor64({tensor.extent(0), missing, tensor.extent(2)})}, 1);
}

Answer ragged_block_padded(const Example& example) {
  return answer_to(input(example, "q"), padded(input(example, "k"), integer(example, "block")),
                   padded(input(example, "v"), integer(example, "block")));
}

Answer ragged_block_dropped(const Example& example) {
  const Index keys = keys_of(example);
  return answer_from_keys(example, 0, keys - keys % integer(example, "block"));
}

/// Where lse says that a query saw no key, the division of zero by zero stands in o.
Answer with_zero_by_zero(Answer wrong) {
  const Index head_dim = wrong["o"].extent(2);
  for (Index row = 0; row < wrong["lse"].size(); ++row) {
    if (wrong["lse"][row] != -infinity) continue;
    std::fill_n(wrong["o"].values().begin() + row * head_dim, head_dim, std::nan(""));
  }
  return wrong;
}

/// exp(-inf - (-inf)) on an empty block makes NaN of l and o both.
Answer empty_block_nan(const Example& example) {
  Answer wrong = with_zero_by_zero(attention_answer<double>(example));
  for (double& lse : wrong["lse"].values()) lse = lse == -infinity ? std::nan("") : lse;
  return wrong;
}

std::vector<Mistake> known_mistakes() {
  const auto without_last_block = [](const Example& example) {
    return with_zero_by_zero(ragged_block_dropped(example));
  };
  const auto divided_by_zero = [](const Example& example) {
    return with_zero_by_zero(attention_answer<double>(example));
  };
  std::vector<WrongSteps<Loop>> loops = wrong_loops();
  for (const Index at_once : {2, 4, 8, 16})
    loops.push_back({"columns_left_over", {.columns_at_once = at_once}});
  for (const Scale scale : {Scale::KeysInBlock, Scale::AllKeys})
    loops.push_back({"scale_by_keys", {.scale = scale}});
  std::vector<Mistake> all = mistakes_of(run, loops);
  std::ranges::move(scale_mistakes(), std::back_inserter(all));
  all.insert(all.end(), {{"ragged_block_padded", ragged_block_padded},
                         {"ragged_block_dropped", ragged_block_dropped},
                         {"ragged_block_dropped", without_last_block},
                         {"no_keys_nan", empty_block_nan},
                         {"no_keys_nan", divided_by_zero}});
  for (const BlockWeight weight : {BlockWeight::One, BlockWeight::Mean, BlockWeight::ByKeys}) {
    for (const bool last_lse : {false, true}) {
      all.push_back({"blocks_normalised", [weight, last_lse](const Example& example) {
                       return blocks_normalised(example, weight, last_lse);
                     }});
    }
  }
  return all;
}

}  // namespace

Example make_example(std::string what, QKV qkv, Index block) {
  return {std::move(what),
          {{"q", std::move(qkv.q)}, {"k", std::move(qkv.k)}, {"v", std::move(qkv.v)}},
          {{"block", {static_cast<double>(block)}}, {"empty_block", {0}}}};
}

/// One query q, whose keys are q and q / 2.
QKV two_keys(InputGenerator& generator) {
  QKV qkv = random_qkv(generator, 1, 1, 2, 4);
  for (Index c = 0; c < 4; ++c) {
    qkv.k.heads()(0, 0, c) = qkv.q.heads()(0, 0, c);
    qkv.k.heads()(0, 1, c) = qkv.q.heads()(0, 0, c) / 2;
  }
  return qkv;
}

/// The second head's scores doubled: who keeps the first head's maximum then has nothing but zeros in it.
QKV second_head_lower(QKV qkv) {
  const Index numbers = qkv.k.size() / qkv.k.extent(0);
  for (float& value : std::span(qkv.k.values()).subspan(numbers, numbers)) value *= 2;
  return qkv;
}

QKV with_zero_queries(QKV qkv) {
  const Index numbers = 2 * qkv.q.extent(2);
  for (Index i = 0; i < qkv.q.size(); ++i) {
    if (i % numbers < numbers / 2) qkv.q[i] = 0;
  }
  return qkv;
}

std::vector<Example> examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, QKV qkv, Index block) {
    all.push_back(make_example(std::move(what), std::move(qkv), block));
  };
  const Index keys = generator.integer(16, 40);
  const Index queries = keys + 3;
  // With a single key of padding that takes all the weight, lse would be log(1 + next to nothing), of which
  // float32 keeps no digit: that the last block is padded could not be recognised. Ragged blocks lack two.
  add("ordinary scores, a shorter last block", random_qkv(generator, 3, queries, keys, 8),
      ragged_block(generator, keys));
  add("a maximum that comes last", late_maximum_qkv(generator, 2, queries, keys, 5),
      ragged_block(generator, keys));
  add("scores more than 110 apart", wide_scores_qkv(generator, 2, queries, keys, 6),
      ragged_block(generator, keys));
  add("all scores near -20, a shorter last block", very_negative_qkv(generator, 2, 9, keys, 7, -20),
      ragged_block(generator, keys));
  // Here the blocks divide the keys: what padding leaves of o would be below float32's range, and exp's
  // choice.
  add("all scores near -150, of the second head near -300",
      second_head_lower(very_negative_qkv(generator, 2, 9, 24, 7, -150)), 6);
  add("all scores near -2e4", very_negative_qkv(generator, 1, 9, 30, 16, -2e4), 10);
  add("real q, k, v", minilm_qkv(generator.integer(0, 460), 50, two_real_heads(generator)),
      generator.integer(8, 16));
  add("real q, k, v with q doubled", minilm_qkv(generator.integer(0, 460), 50, two_real_heads(generator), 2),
      17);
  add("blocks of one key", random_qkv(generator, 2, 6, 11, 3), 1);
  add("blocks that divide the keys", random_qkv(generator, 2, 7, 24, 9), 8);
  add("a block larger than all keys", random_qkv(generator, 2, 8, 13, 5), 64);
  add("more queries than a tile is likely to hold", random_qkv(generator, 1, 300, 20, 4), 7);
  add("head_dim 1", random_qkv(generator, 2, 6, 15, 1), 4);
  add("one query", random_qkv(generator, 2, 1, 19, 4), 5);
  add("one key", random_qkv(generator, 2, 5, 1, 4), 3);
  add("no queries", random_qkv(generator, 2, 0, 6, 4), 4);
  add("no keys", random_qkv(generator, 2, 4, 0, 4), 4);
  add("a block without keys behind the others", random_qkv(generator, 2, 5, 12, 4), 5);
  all.back().arguments["empty_block"] = {1};
  add("one query, two blocks of one key, the second score half the first", two_keys(generator), 1);
  // Drawn blocks may all begin with their largest score.
  add("scores more than 110 apart in one block", wide_scores_qkv(generator, 1, 5, 24, 4), 24);
  add("queries of zeros", with_zero_queries(random_qkv(generator, 1, 4, 21, 5)), 12);
  // Sizes that no fixed room, tile or count is likely to hold, and scores and values at an edge.
  add("five heads, head_dim 130", random_qkv(generator, 5, 3, 7, 130), 3);
  add("more than a thousand queries", random_qkv(generator, 1, 1100, 3, 2), 2);
  add("blocks of hundreds of keys", random_qkv(generator, 1, 2, 1300, 3), 600);
  add("150 blocks of one key", random_qkv(generator, 1, 2, 150, 3), 1);
  add("all scores near 2e4", very_negative_qkv(generator, 1, 9, 30, 16, 2e4), 10);
  add("two keys more than 110 apart in one block", wide_scores_qkv(generator, 2, 4, 2, 3), 2);
  std::ranges::move(far_examples(generator, 1, 16), std::back_inserter(all));
  return all;
}

namespace {

/// Values of 1 and more: where weights add up to more than float32 holds, so do values, in whatever order.
QKV with_large_values(QKV qkv) {
  for (float& value : qkv.v.values()) value = 1 + std::abs(value);
  return qkv;
}

}  // namespace

std::vector<Example> far_examples(InputGenerator& generator, Index head_dim, Index block) {
  const auto add = [&](const char* what, const KeyScores& scores, Index keys_a_block, bool both_signs) {
    QKV qkv = with_large_values(exact_scores_qkv(generator, 4, head_dim, scores, both_signs));
    Example made = make_example(what, std::move(qkv), keys_a_block);
    made.less_telling = true;
    return made;
  };
  const double lowest = -0x1p127 / std::sqrt(static_cast<double>(head_dim));
  std::vector<Example> all{
      add("one score near -1e10, and all others far below it", deciding_scores(12, -0x1p33), 4, false),
      add("a block whose scores are all 86 to 103 above those of the block before, or below",
          risen_scores(block), block, true),
      add("scores that rise or fall by 150 or 180 in small steps", climbing_scores(), 4, true),
      add("scores below 88, whose exponentials add up to more than float32 holds", full_scores(), 64, false),
      add("keys that all score 13 less than one, the first or the last", outweighed_scores(), 64, false),
      add("one score near -1e38, and all others below it", deciding_scores(12, lowest), 4, false)};
  all.back().far_out = true;
  return all;
}

std::vector<Example> with_a_long_one(InputGenerator& generator, int ranks) {
  std::vector<Example> all = examples(generator, ranks);
  all.push_back(make_example("1024 queries and 2048 keys", random_qkv(generator, 1, 1024, 2048, 4),
                             generator.integer(64, 100)));
  all.back().large = true;
  return all;
}

std::int64_t memory_limit(const Example& example) {
  const Index queries = example.inputs.at("q").extent(1);
  return (2 << 20) + 4 * 4 * queries * (head_dim_of(example) + integer(example, "block"));
}

std::vector<Mistake> scale_mistakes() {
  return {{"scale_missing", without_scale},
          {"scale_is_one_over_d", [](const Example& example) { return with_scale(example, -1); }},
          {"scale_inverted", [](const Example& example) { return with_scale(example, 0.5); }},
          {"scale_after_softmax", scale_on_output},
          {"scale_after_softmax", scale_on_weights}};
}

Task task(std::string id, std::string function) {
  Task made = attention_task(std::move(id), std::move(function));
  made.examples = examples;
  made.mistakes = known_mistakes();
  made.words = words_of_loops();
  made.mistakes_cancel = true;  // log l of one key is 0
  return made;
}

}  // namespace course::block_forward
