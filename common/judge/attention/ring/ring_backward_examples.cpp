#include <algorithm>
#include <cmath>

#include "judge/attention/forward.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "judge/numbers/dot.hpp"
#include "ring/shards.hpp"

namespace course::ring_backward {

namespace {

/// Every third query steep: its scores lie more than 110 apart. Next to all of its weight is on one key, its
/// own gradient cancels, and float32 keeps nothing of it; the queries between keep the sums away from zero.
QKV with_steep_queries(QKV qkv) {
  const double root_dim = std::sqrt(static_cast<double>(qkv.q.extent(2)));
  for (Index head = 0; head < qkv.q.extent(0); ++head) {
    for (Index i = 0; i < qkv.q.extent(1); i += 3) {
      const std::span<float> query = qkv.q.heads().head(head).row(i);
      std::vector<double> scores;
      for (Index j = 0; j < qkv.k.extent(1); ++j)
        scores.push_back(dot(query, qkv.k.heads().head(head).row(j)) / root_dim);
      const auto [low, high] = std::ranges::minmax(scores);
      for (float& entry : query) entry *= static_cast<float>(120 / std::max(high - low, 1e-3));
    }
  }
  return qkv;
}

}  // namespace

Example make_example(std::string what, const Layout& layout, QKV qkv, Tensor d_o) {
  return with_gradient(ring_forward::make_example(std::move(what), layout, std::move(qkv)), std::move(d_o));
}

Example with_gradient(Example forward, Tensor d_o) {
  const Answer answer = attention_answer<double>(forward);
  forward.inputs.emplace("o", cast<float>(answer.at("o")));
  forward.inputs.emplace("lse", cast<float>(answer.at("lse")));
  forward.inputs.emplace("d_o", std::move(d_o));
  return forward;
}

Example with_gradient(InputGenerator& generator, Example forward) {
  Tensor d_o = generator.normal(forward.inputs.at("q").shape());
  return with_gradient(std::move(forward), std::move(d_o));
}

Example real_example(InputGenerator& generator, std::string what, const Layout& layout,
                     const std::vector<Index>& heads, Index every, float q_factor) {
  const int tokens = layout.tokens();
  const Index first = generator.integer(0, 512 - tokens);
  QKV qkv = minilm_qkv(first, tokens, heads);
  for (Index i = 0; i < qkv.q.size(); ++i) {
    if (i / qkv.q.extent(2) % every == 0) qkv.q[i] *= q_factor;
  }
  return make_example(std::move(what), layout, std::move(qkv), minilm_d_o(first, tokens, heads));
}

std::vector<Example> examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](std::string what, const std::vector<int>& shards, QKV qkv) {
    Tensor d_o = generator.normal(qkv.q.shape());
    all.push_back(make_example(std::move(what), shards, std::move(qkv), std::move(d_o)));
  };
  for (Example& forward : ring_forward::on_all_kinds_of_shards(generator, ranks, 2))
    all.push_back(with_gradient(generator, std::move(forward)));
  std::vector<int> shards = unequal_shards(generator, ranks);
  shards[generator.integer(0, ranks - 1)] += 12;
  const int n = total_tokens(shards);
  add("queries whose scores are more than 110 apart", shards,
      with_steep_queries(random_qkv(generator, 2, n, n, 6)));
  add("scores near -150", shards, very_negative_qkv(generator, 2, n, n, 5, -150));
  add("scores near -300", shards, very_negative_qkv(generator, 2, n, n, 5, -300));
  const auto add_real = [&](std::string what, int tokens, Index every, float q_factor) {
    all.push_back(real_example(generator, std::move(what), even_shards(tokens, ranks),
                               two_real_heads(generator), every, q_factor));
  };
  add_real("real q, k, v and d_o", 53, 1, 1);
  // Were all queries doubled, most of the weight would be on one key, and the gradient of a whole head
  // would cancel.
  add_real("real q, k, v and d_o with every third query doubled", 96, 3, 2);
  for (Example& large : ring_forward::with_large_blocks(generator, ranks))
    all.push_back(with_gradient(generator, std::move(large)));
  return all;
}

std::vector<Example> masked_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](Example forward) {
    all.push_back(with_gradient(generator, ring_mask::with_offset(std::move(forward), 0)));
  };
  for (Example& forward : ring_forward::on_all_kinds_of_masks(generator, ranks))
    all.push_back(with_gradient(generator, std::move(forward)));
  std::vector<int> shards = unequal_shards(generator, ranks);
  shards.back() += 8;
  const int n = total_tokens(shards), real = 53;
  add(ring_forward::make_example("unequal shards and scores near -150", shards,
                                 very_negative_qkv(generator, 2, n, n, 5, -150)));
  // Halved, so that more keys have weight: a query whose weight is on one key has a gradient that cancels.
  add(ring_forward::make_example(
      "real queries, halved, with real keys and values", even_shards(real, ranks),
      minilm_qkv(generator.integer(0, 512 - real), real, two_real_heads(generator), 0.5f)));
  for (Example& large : ring_forward::with_large_blocks(generator, ranks)) add(std::move(large));
  return all;
}

}  // namespace course::ring_backward
