#include "grouped_queries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson15 {

Index kv_head(Index head, Index heads, Index kv_heads) {
  if (kv_heads < 1 || heads % kv_heads != 0)
    throw std::invalid_argument(std::to_string(kv_heads) + " key heads do not divide " +
                                std::to_string(heads) + " query heads");
  return head / (heads / kv_heads);
}

namespace {

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0.0f;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

void add(std::span<float> to, float factor, std::span<const float> from) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * from[c];
}

}  // namespace

void attend_grouped(const course::BlockRequest& request, course::AttentionState& state) {
  const Index heads = request.q.heads(), keys = request.k.seq();
  std::vector<float> scores(keys);
  for (Index head = 0; head < heads && keys > 0; ++head) {
    const Index kv = kv_head(head, heads, request.k.heads());
    const MatrixView<const float> k = request.k.head(kv), v = request.v.head(kv);
    for (Index i = 0; i < request.q.seq(); ++i) {
      for (Index j = 0; j < keys; ++j) scores[j] = request.scale * dot(request.q.head(head).row(i), k.row(j));
      float &m = state.m()(head, i), &l = state.l()(head, i);
      const float before = m;
      m = std::max(m, *std::ranges::max_element(scores));
      const float factor = std::exp(before - m);
      const std::span<float> o = state.o().head(head).row(i);
      l *= factor;
      for (float& x : o) x *= factor;
      for (Index j = 0; j < keys; ++j) {
        const float weight = std::exp(scores[j] - m);
        l += weight;
        add(o, weight, v.row(j));
      }
    }
  }
}

void grouped_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                      MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                      HeadsView<float> dk, HeadsView<float> dv) {
  const Index heads = request.q.heads();
  for (Index head = 0; head < heads; ++head) {
    const Index kv = kv_head(head, heads, request.k.heads());
    const MatrixView<const float> q = request.q.head(head), k = request.k.head(kv), v = request.v.head(kv);
    for (Index i = 0; i < q.rows(); ++i) {
      if (lse(head, i) == -std::numeric_limits<float>::infinity()) continue;
      const std::span<const float> gradient = d_o.head(head).row(i);
      for (Index j = 0; j < k.rows(); ++j) {
        const float p = std::exp(request.scale * dot(q.row(i), k.row(j)) - lse(head, i));
        const float ds = request.scale * p * (dot(gradient, v.row(j)) - delta(head, i));
        add(dv.head(kv).row(j), p, gradient);
        add(dq.head(head).row(i), ds, k.row(j));
        add(dk.head(kv).row(j), ds, q.row(i));
      }
    }
  }
}

void grouped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            HeadsView<float> o, MatrixView<float> lse, float scale,
                            std::span<const int> shard_tokens, const course::BlockForward& block,
                            MPI_Comm comm) {
  const course::Ring ring(comm);
  course::TravellingTensor held_k(ring, shard_tokens, k), held_v(ring, shard_tokens, v);
  course::AttentionState state(q.heads(), q.seq(), v.head_dim());
  for (int hop = 0; hop < ring.size; ++hop) {
    if (hop > 0) {
      held_k.hop();
      held_v.hop();
    }
    block.accumulate({q, held_k.block(), held_v.block(), ring.owner_after(hop), scale}, state);
  }
  block.finish(state, o, lse);
}

namespace {

/// delta_i = o_i . d_o_i, [heads, n].
std::vector<float> row_delta(HeadsView<const float> o, HeadsView<const float> d_o) {
  std::vector<float> delta;
  for (Index head = 0; head < o.heads(); ++head) {
    for (Index i = 0; i < o.seq(); ++i) delta.push_back(dot(o.head(head).row(i), d_o.head(head).row(i)));
  }
  return delta;
}

void copy(HeadsView<const float> from, HeadsView<float> to) {
  std::copy_n(from.data(), from.size(), to.data());
}

}  // namespace

void grouped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                           HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv, float scale,
                           std::span<const int> shard_tokens, const course::BlockBackward& block,
                           MPI_Comm comm) {
  const course::Ring ring(comm);
  const std::vector<float> delta = row_delta(o, d_o);
  course::TravellingTensor held_k(ring, shard_tokens, k), held_v(ring, shard_tokens, v);
  course::TravellingTensor held_dk(ring, shard_tokens, k.heads(), k.head_dim());
  course::TravellingTensor held_dv(ring, shard_tokens, v.heads(), v.head_dim());
  std::fill_n(dq.data(), dq.size(), 0.0f);
  for (int hop = 0; hop < ring.size; ++hop) {
    if (hop > 0) {
      for (course::TravellingTensor* held : {&held_k, &held_v, &held_dk, &held_dv}) held->hop();
    }
    block.accumulate({q, held_k.block(), held_v.block(), ring.owner_after(hop), scale}, d_o, lse,
                     {delta.data(), q.heads(), q.seq()}, dq, held_dk.block(), held_dv.block());
  }
  if (ring.size > 1) {
    held_dk.hop();
    held_dv.hop();
  }
  copy(held_dk.block(), dk);
  copy(held_dv.block(), dv);
}

namespace {

/// y = x W for x [n, a] and W [a, b], row by row into the first b columns of y.
void multiply(MatrixView<const float> x, MatrixView<const float> w, MatrixView<float> y) {
  for (Index i = 0; i < x.rows(); ++i) {
    std::fill_n(y.row(i).begin(), w.cols(), 0.0f);
    for (Index a = 0; a < w.rows(); ++a) add(y.row(i).first(w.cols()), x(i, a), w.row(a));
  }
}

/// (key_up^T q_nope, q_rope) of every query, [heads, n, latent_dim + rope_dim].
std::vector<float> absorbed(HeadsView<const float> q_nope, HeadsView<const float> q_rope,
                            HeadsView<const float> key_up) {
  const Index latent_dim = key_up.head_dim(), rope_dim = q_rope.head_dim(), width = latent_dim + rope_dim;
  std::vector<float> all(q_nope.heads() * q_nope.seq() * width);
  const HeadsView<float> q(all.data(), q_nope.heads(), q_nope.seq(), width);
  for (Index head = 0; head < q.heads(); ++head) {
    multiply(q_nope.head(head), key_up.head(head), q.head(head));
    for (Index i = 0; i < q.seq(); ++i)
      std::ranges::copy(q_rope.head(head).row(i), q.head(head).row(i).begin() + latent_dim);
  }
  return all;
}

}  // namespace

void latent_ring_attention(HeadsView<const float> q_nope, HeadsView<const float> q_rope,
                           HeadsView<const float> latent, HeadsView<const float> key_up,
                           HeadsView<const float> value_up, HeadsView<float> o, MatrixView<float> lse,
                           std::span<const int> shard_tokens, const course::BlockForward& block,
                           MPI_Comm comm) {
  const course::Ring ring(comm);
  const Index heads = q_nope.heads(), n = q_nope.seq(), latent_dim = key_up.head_dim();
  const std::vector<float> q = absorbed(q_nope, q_rope, key_up);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q_nope.head_dim() + q_rope.head_dim()));
  course::TravellingTensor held(ring, shard_tokens, latent);
  course::AttentionState state(heads, n, latent_dim);
  for (int hop = 0; hop < ring.size; ++hop) {
    if (hop > 0) held.hop();
    const HeadsView<const float> keys = held.block();
    block.accumulate({{q.data(), heads, n, latent.head_dim()},
                      keys,
                      keys.first_columns(latent_dim),
                      ring.owner_after(hop),
                      scale},
                     state);
  }
  std::vector<float> in_latent(heads * n * latent_dim);
  const HeadsView<float> o_latent(in_latent.data(), heads, n, latent_dim);
  block.finish(state, o_latent, lse);
  for (Index head = 0; head < heads; ++head) {
    for (Index i = 0; i < n; ++i) {
      for (Index c = 0; c < o.head_dim(); ++c)
        o(head, i, c) = dot(value_up.head(head).row(c), o_latent.head(head).row(i));
    }
  }
}

void latent_block_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                           MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                           HeadsView<float> d_latent, const course::BlockBackward& block) {
  const Index keys = request.v.seq(), latent_dim = request.v.head_dim();
  std::vector<float> as_values(keys * latent_dim);
  const HeadsView<float> dv(as_values.data(), 1, keys, latent_dim);
  block.accumulate(request, d_o, lse, delta, dq, d_latent, dv);
  for (Index j = 0; j < keys; ++j) add(d_latent.head(0).row(j).first(latent_dim), 1.0f, dv.head(0).row(j));
}

}  // namespace lesson15
