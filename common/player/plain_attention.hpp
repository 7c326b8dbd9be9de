#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "player/blocks.hpp"
#include "reference/softmax.hpp"
#include "tensor/tensor.hpp"

/// The block computations that players give to a ring, in graded runs the same for everybody. Handouts hold
/// them, so they are the definition, a query at a time over all of its scores, and none of the lessons'
/// algorithms: no running maximum, no tiles, no matrix products.
namespace course::plain {

inline float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0.0f;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

inline void add_scaled(std::span<float> to, float factor, std::span<const float> from) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * from[c];
}

inline float score_scale(HeadsView<const float> q) {
  return 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
}

inline std::string shape_text(HeadsView<const float> x) {
  return to_string({x.heads(), x.seq(), x.head_dim()});
}

/// Throws std::invalid_argument with the shapes unless k and v have one shape, and q's heads and head_dim.
inline void require_fitting(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v) {
  const bool same_heads = q.heads() == k.heads() && k.heads() == v.heads();
  const bool same_dim = q.head_dim() == k.head_dim() && k.head_dim() == v.head_dim();
  if (same_heads && same_dim && k.seq() == v.seq() && k.seq() >= 0) return;
  throw std::invalid_argument("block.accumulate was given q " + shape_text(q) + ", k " + shape_text(k) +
                              " and v " + shape_text(v) +
                              "; heads and head_dim must agree, and k and v must hold equally many tokens");
}

/// Throws std::invalid_argument with both shapes unless they are one.
inline void require_same_shape(const char* name, HeadsView<const float> x, const char* other_name,
                               HeadsView<const float> other) {
  if (x.heads() == other.heads() && x.seq() == other.seq() && x.head_dim() == other.head_dim()) return;
  throw std::invalid_argument(std::string("block.accumulate was given ") + name + " " + shape_text(x) +
                              " for " + other_name + " " + shape_text(other) + "; the shapes must agree");
}

/// Throws std::invalid_argument with both shapes unless `x`, one number a query, fits q.
inline void require_one_a_query(const char* name, MatrixView<const float> x, HeadsView<const float> q) {
  if (x.rows() == q.heads() && x.cols() == q.seq()) return;
  throw std::invalid_argument(std::string("block.accumulate was given ") + name + " " +
                              to_string({x.rows(), x.cols()}) + " for q " + shape_text(q) +
                              "; one number a head and query is expected");
}

/// Throws std::invalid_argument unless every query of q has a range of keys that lies in the block k; names
/// the first query whose range does not.
inline void require_ranges(std::span<const KeyRange> seen, HeadsView<const float> q,
                           HeadsView<const float> k) {
  if (std::ssize(seen) != q.seq()) {
    throw std::invalid_argument("block.accumulate was given " + std::to_string(seen.size()) +
                                " ranges of keys for q " + shape_text(q) + "; one a query is expected");
  }
  for (Index i = 0; i < q.seq(); ++i) {
    const auto [first, last] = seen[i];
    if (0 <= first && first <= last && last <= k.seq()) continue;
    throw std::invalid_argument("block.accumulate was given keys " + std::to_string(first) + " to before " +
                                std::to_string(last) + " for query " + std::to_string(i) +
                                "; 0 <= first <= last <= " + std::to_string(k.seq()) +
                                " is expected, the number of keys of the block");
  }
}

/// Every query of q sees all keys of the block k.
inline std::vector<KeyRange> whole_block(HeadsView<const float> q, HeadsView<const float> k) {
  return std::vector<KeyRange>(std::max<Index>(0, q.seq()), {0, k.seq()});
}

/// What a query has seen so far, o and lse, as the state has it: m and l are lse in two numbers, which lose
/// less than one.
inline void keep(std::span<const double> o, double lse, float& m, float& l, std::span<float> kept) {
  m = static_cast<float>(lse);
  l = static_cast<float>(std::exp(lse - m));
  for (std::size_t c = 0; c < kept.size(); ++c) kept[c] = static_cast<float>(o[c] * l);
}

/// One query sees some keys. Its weights are the softmax of all its scores, as the definition has it; what it
/// has seen before is one key more, whose score is the logsumexp of those before and whose value is their
/// output. Where l is 0 nothing has been seen, whatever m is.
inline void see(std::span<const float> query, MatrixView<const float> k, MatrixView<const float> v,
                float scale, float& m, float& l, std::span<float> o) {
  std::vector<double> weights{l > 0.0f ? m + std::log(double{l}) : -std::numeric_limits<double>::infinity()};
  for (Index j = 0; j < k.rows(); ++j) weights.push_back(scale * dot(query, k.row(j)));
  const double lse = reference::softmax_in_place<double>(weights);
  std::vector<double> sum(o.size());
  for (std::size_t c = 0; c < o.size(); ++c) sum[c] = l > 0.0f ? weights[0] * (o[c] / l) : 0.0;
  for (Index j = 0; j < k.rows(); ++j) {
    for (std::size_t c = 0; c < o.size(); ++c) sum[c] += weights[j + 1] * v(j, c);
  }
  keep(sum, lse, m, l, o);
}

/// MaskedBlockAttention::accumulate. A head is a tile.
inline void accumulate_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            std::span<const KeyRange> seen, AttentionState& state,
                            const BetweenTiles& between_tiles = {}) {
  require_fitting(q, k, v);
  require_ranges(seen, q, k);
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      const Index keys = seen[i].last - seen[i].first;
      if (keys == 0) continue;
      see(q.head(head).row(i), k.head(head).rows(seen[i].first, keys), v.head(head).rows(seen[i].first, keys),
          score_scale(q), state.m()(head, i), state.l()(head, i), state.o().head(head).row(i));
    }
    if (between_tiles) between_tiles();
  }
}

/// BlockAttention::accumulate.
inline void accumulate(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                       int /*owner*/, AttentionState& state, const BetweenTiles& between_tiles) {
  accumulate_seen(q, k, v, whole_block(q, k), state, between_tiles);
}

/// BlockAttention::finish.
inline void finish(AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
  for (Index head = 0; head < o.heads(); ++head) {
    for (Index i = 0; i < o.seq(); ++i) {
      const float l = state.l()(head, i);
      lse(head, i) = state.m()(head, i) + std::log(l);
      for (Index c = 0; c < o.head_dim(); ++c) {
        o(head, i, c) = l > 0.0f ? state.o()(head, i, c) / l : 0.0f;
      }
    }
  }
}

/// MaskedBlockAttentionBackward::accumulate. A head is a tile.
inline void accumulate_backward_seen(HeadsView<const float> q, HeadsView<const float> k,
                                     HeadsView<const float> v, HeadsView<const float> d_o,
                                     MatrixView<const float> lse, MatrixView<const float> delta,
                                     std::span<const KeyRange> seen, HeadsView<float> dq, HeadsView<float> dk,
                                     HeadsView<float> dv, const BetweenTiles& between_tiles = {}) {
  require_fitting(q, k, v);
  require_ranges(seen, q, k);
  require_same_shape("d_o", d_o, "q", q);
  require_same_shape("dq", dq, "q", q);
  require_same_shape("dk", dk, "k", k);
  require_same_shape("dv", dv, "v", v);
  require_one_a_query("lse", lse, q);
  require_one_a_query("delta", delta, q);
  const float scale = score_scale(q);
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      if (lse(head, i) == -std::numeric_limits<float>::infinity()) continue;
      const std::span<const float> query = q.head(head).row(i);
      const std::span<const float> gradient = d_o.head(head).row(i);
      for (Index j = seen[i].first; j < seen[i].last; ++j) {
        const float weight = std::exp(scale * dot(query, k.head(head).row(j)) - lse(head, i));
        const float ds = scale * weight * (dot(gradient, v.head(head).row(j)) - delta(head, i));
        add_scaled(dv.head(head).row(j), weight, gradient);
        add_scaled(dq.head(head).row(i), ds, k.head(head).row(j));
        add_scaled(dk.head(head).row(j), ds, query);
      }
    }
    if (between_tiles) between_tiles();
  }
}

/// BlockAttentionBackward::accumulate.
inline void accumulate_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                                HeadsView<const float> d_o, MatrixView<const float> lse,
                                MatrixView<const float> delta, int /*owner*/, HeadsView<float> dq,
                                HeadsView<float> dk, HeadsView<float> dv, const BetweenTiles& between_tiles) {
  accumulate_backward_seen(q, k, v, d_o, lse, delta, whole_block(q, k), dq, dk, dv, between_tiles);
}

inline const LessonBlocks blocks{{accumulate, finish}, {accumulate_backward}};

}  // namespace course::plain
