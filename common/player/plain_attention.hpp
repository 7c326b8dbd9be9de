#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "player/blocks.hpp"
#include "protocol/fact.hpp"
#include "protocol/fact_kinds.hpp"
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

inline std::string shape_text(HeadsView<const float> x) {
  return to_string({x.heads(), x.seq(), x.head_dim()});
}

/// Throws std::invalid_argument with the shapes unless k and v hold equally many heads and tokens, the heads
/// of k divide those of q, and q and k have one width.
inline void require_fitting(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v) {
  const bool shared =
      k.heads() == v.heads() && (q.heads() == 0 || (k.heads() > 0 && q.heads() % k.heads() == 0));
  if (shared && q.head_dim() == k.head_dim() && k.seq() == v.seq() && k.seq() >= 0) return;
  throw std::invalid_argument(
      "block.accumulate was given q " + shape_text(q) + ", k " + shape_text(k) + " and v " + shape_text(v) +
      "; the heads of k and v must be equally many and divide those of q, q and k must "
      "have one width, and k and v must hold equally many tokens");
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

/// Throws std::invalid_argument unless `o`, a row a query, has the width of v.
inline void require_output(const char* name, HeadsView<const float> o, HeadsView<const float> q,
                           HeadsView<const float> v) {
  if (o.heads() == q.heads() && o.seq() == q.seq() && o.head_dim() == v.head_dim()) return;
  throw std::invalid_argument(std::string("block.accumulate was given ") + name + " " + shape_text(o) +
                              " for q " + shape_text(q) + " and v " + shape_text(v) +
                              "; heads and queries of q and the width of v are expected");
}

/// Throws std::invalid_argument unless every query of q has a range of keys that lies in the block k: one
/// that tells fact_ranges_of_other_queries, or one that names the first query whose range does not.
inline void require_ranges(std::span<const KeyRange> seen, HeadsView<const float> q,
                           HeadsView<const float> k) {
  if (std::ssize(seen) != q.seq()) {
    throw FactException<std::invalid_argument>(
        {fact_ranges_of_other_queries, "block.accumulate was given " + std::to_string(seen.size()) +
                                           " ranges of keys for q " + shape_text(q) +
                                           "; one a query is expected"});
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

/// Throws std::invalid_argument unless a request's tensors, its ranges and its bias fit each other.
inline void require_fitting(const BlockRequest& request) {
  require_fitting(request.q, request.k, request.v);
  if (request.seen) require_ranges(*request.seen, request.q, request.k);
  if (request.bias == nullptr) return;
  const auto require = [](const char* what, std::size_t given, Index expected) {
    if (static_cast<Index>(given) == expected) return;
    throw std::invalid_argument("block.accumulate was given a bias with " + std::to_string(given) + " " +
                                what + "; " + std::to_string(expected) + " are expected");
  };
  require("slopes", request.bias->slopes.size(), request.q.heads());
  require("positions of queries", request.bias->query_positions.size(), request.q.seq());
  require("positions of keys", request.bias->key_positions.size(), request.k.seq());
}

/// The head of k and v that a head of q looks at.
inline Index kv_head(const BlockRequest& request, Index head) {
  return head / (request.q.heads() / request.k.heads());
}

/// The score of a query of a head and a key of the block.
inline float score(const BlockRequest& request, Index head, Index query, Index key) {
  const float scaled =
      request.scale * dot(request.q.head(head).row(query), request.k.head(kv_head(request, head)).row(key));
  if (request.bias == nullptr) return scaled;
  const Index distance = std::abs(request.bias->query_positions[query] - request.bias->key_positions[key]);
  return scaled - request.bias->slopes[head] * static_cast<float>(distance);
}

/// What a query has seen so far, o and lse, as the state has it: m and l are lse in two numbers, which lose
/// less than one.
inline void keep(std::span<const double> o, double lse, float& m, float& l, std::span<float> kept) {
  m = static_cast<float>(lse);
  l = static_cast<float>(std::exp(lse - m));
  for (std::size_t c = 0; c < kept.size(); ++c) kept[c] = static_cast<float>(o[c] * l);
}

/// A query of a head sees its keys. Its weights are the softmax of all its scores, as the definition has it;
/// what it has seen before is one key more, whose score is the logsumexp of those before and whose value is
/// their output. Where l is 0 nothing has been seen, whatever m is.
inline void see(const BlockRequest& request, Index head, Index query, float& m, float& l,
                std::span<float> o) {
  const auto [first, last] = request.seen_by(query);
  if (first == last) return;
  std::vector<double> weights{l > 0.0f ? m + std::log(double{l}) : -std::numeric_limits<double>::infinity()};
  for (Index j = first; j < last; ++j) weights.push_back(score(request, head, query, j));
  const double lse = reference::softmax_in_place<double>(weights);
  std::vector<double> sum(o.size());
  for (std::size_t c = 0; c < o.size(); ++c) sum[c] = l > 0.0f ? weights[0] * (o[c] / l) : 0.0;
  const MatrixView<const float> v = request.v.head(kv_head(request, head));
  for (Index j = first; j < last; ++j) {
    for (std::size_t c = 0; c < o.size(); ++c) sum[c] += weights[1 + j - first] * v(j, c);
  }
  keep(sum, lse, m, l, o);
}

/// BlockForward::accumulate. A head is a tile.
inline void accumulate(const BlockRequest& request, AttentionState& state) {
  require_fitting(request);
  require_output("a state", state.o(), request.q, request.v);
  for (Index head = 0; head < request.q.heads(); ++head) {
    for (Index i = 0; i < request.q.seq(); ++i)
      see(request, head, i, state.m()(head, i), state.l()(head, i), state.o().head(head).row(i));
    if (request.between_tiles) request.between_tiles();
  }
}

/// BlockForward::finish.
inline void finish(AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
  const HeadsView<const float> summed = state.o();
  const bool fits = o.heads() == summed.heads() && o.seq() == summed.seq() &&
                    o.head_dim() == summed.head_dim() && lse.rows() == o.heads() && lse.cols() == o.seq();
  if (!fits)
    throw std::invalid_argument("block.finish was given o " + shape_text(o) + " and lse " +
                                to_string({lse.rows(), lse.cols()}) + " for a state " + shape_text(summed));
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

/// Throws std::invalid_argument unless all that a backward computation is given fits.
inline void require_gradients(const BlockRequest& request, HeadsView<const float> d_o,
                              MatrixView<const float> lse, MatrixView<const float> delta,
                              HeadsView<const float> dq, HeadsView<const float> dk,
                              HeadsView<const float> dv) {
  require_fitting(request);
  require_output("d_o", d_o, request.q, request.v);
  require_same_shape("dq", dq, "q", request.q);
  require_same_shape("dk", dk, "k", request.k);
  require_same_shape("dv", dv, "v", request.v);
  require_one_a_query("lse", lse, request.q);
  require_one_a_query("delta", delta, request.q);
}

/// BlockBackward::accumulate. A head is a tile.
inline void accumulate_backward(const BlockRequest& request, HeadsView<const float> d_o,
                                MatrixView<const float> lse, MatrixView<const float> delta,
                                HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv) {
  require_gradients(request, d_o, lse, delta, dq, dk, dv);
  const HeadsView<const float> q = request.q, k = request.k, v = request.v;
  for (Index head = 0; head < q.heads(); ++head) {
    const Index kv = kv_head(request, head);
    for (Index i = 0; i < q.seq(); ++i) {
      if (lse(head, i) == -std::numeric_limits<float>::infinity()) continue;
      const std::span<const float> gradient = d_o.head(head).row(i);
      for (Index j = request.seen_by(i).first; j < request.seen_by(i).last; ++j) {
        const float weight = std::exp(score(request, head, i, j) - lse(head, i));
        const float ds = request.scale * weight * (dot(gradient, v.head(kv).row(j)) - delta(head, i));
        add_scaled(dv.head(kv).row(j), weight, gradient);
        add_scaled(dq.head(head).row(i), ds, k.head(kv).row(j));
        add_scaled(dk.head(kv).row(j), ds, q.head(head).row(i));
      }
    }
    if (request.between_tiles) request.between_tiles();
  }
}

inline const LessonBlocks blocks{{accumulate, finish}, {accumulate_backward}};

}  // namespace course::plain
