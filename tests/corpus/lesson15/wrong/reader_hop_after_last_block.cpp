// wrong: task 6: hops after each block, also after the last: P hops
// line: rows.hop();  // at the end of the loop
// rating: led
#include "grouped_queries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace lesson15 {

namespace {

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0.0f;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

void add_scaled(float factor, std::span<const float> x, std::span<float> y) {
  for (std::size_t c = 0; c < y.size(); ++c) y[c] += factor * x[c];
}

void copy_into(HeadsView<const float> from, HeadsView<float> to) {
  for (Index head = 0; head < to.heads(); ++head) {
    for (Index i = 0; i < to.seq(); ++i)
      std::ranges::copy(from.head(head).row(i), to.head(head).row(i).begin());
  }
}

void clear(HeadsView<float> x) {
  for (Index head = 0; head < x.heads(); ++head) {
    for (Index i = 0; i < x.seq(); ++i) std::ranges::fill(x.head(head).row(i), 0.0f);
  }
}

}  // namespace

Index kv_head(Index head, Index heads, Index kv_heads) {
  if (kv_heads < 1 || heads % kv_heads != 0)
    throw std::invalid_argument(std::to_string(heads) + " query heads cannot share " +
                                std::to_string(kv_heads) + " key heads");
  const Index group = heads / kv_heads;
  return head / group;
}

void attend_grouped(const course::BlockRequest& request, course::AttentionState& state) {
  const Index keys = request.k.seq();
  if (keys == 0) return;
  std::vector<float> scores(keys);
  for (Index head = 0; head < request.q.heads(); ++head) {
    const Index shared = kv_head(head, request.q.heads(), request.k.heads());
    const auto k = request.k.head(shared);
    const auto v = request.v.head(shared);
    for (Index i = 0; i < request.q.seq(); ++i) {
      const auto query = request.q.head(head).row(i);
      for (Index j = 0; j < keys; ++j) scores[j] = request.scale * dot(query, k.row(j));
      float& m = state.m()(head, i);
      float& l = state.l()(head, i);
      const auto o = state.o().head(head).row(i);
      const float largest = std::max(m, *std::ranges::max_element(scores));
      const float factor = std::exp(m - largest);
      m = largest;
      l *= factor;
      for (float& x : o) x *= factor;
      for (Index j = 0; j < keys; ++j) {
        const float weight = std::exp(scores[j] - m);
        l += weight;
        add_scaled(weight, v.row(j), o);
      }
    }
  }
}

void grouped_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                      MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                      HeadsView<float> dk, HeadsView<float> dv) {
  for (Index head = 0; head < request.q.heads(); ++head) {
    const Index shared = kv_head(head, request.q.heads(), request.k.heads());
    const auto k = request.k.head(shared);
    const auto v = request.v.head(shared);
    for (Index i = 0; i < request.q.seq(); ++i) {
      if (lse(head, i) == -std::numeric_limits<float>::infinity()) continue;
      const auto query = request.q.head(head).row(i);
      const auto d_out = d_o.head(head).row(i);
      for (Index j = 0; j < request.k.seq(); ++j) {
        const float p = std::exp(request.scale * dot(query, k.row(j)) - lse(head, i));
        const float ds = request.scale * p * (dot(d_out, v.row(j)) - delta(head, i));
        add_scaled(p, d_out, dv.head(shared).row(j));
        add_scaled(ds, k.row(j), dq.head(head).row(i));
        add_scaled(ds, query, dk.head(shared).row(j));
      }
    }
  }
}

void grouped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            HeadsView<float> o, MatrixView<float> lse, float scale,
                            std::span<const int> shard_tokens, const course::BlockForward& block,
                            MPI_Comm comm) {
  const course::Ring ring(comm);
  course::TravellingTensor keys(ring, shard_tokens, k);
  course::TravellingTensor values(ring, shard_tokens, v);
  course::AttentionState state(q.heads(), q.seq(), v.head_dim());
  for (int hop = 0; hop < ring.size; ++hop) {
    if (hop > 0) {
      keys.hop();
      values.hop();
    }
    block.accumulate({q, keys.block(), values.block(), ring.owner_after(hop), scale}, state);
  }
  block.finish(state, o, lse);
}

void grouped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                           HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv, float scale,
                           std::span<const int> shard_tokens, const course::BlockBackward& block,
                           MPI_Comm comm) {
  const course::Ring ring(comm);
  std::vector<float> delta_numbers(q.heads() * q.seq());
  const MatrixView<float> delta(delta_numbers.data(), q.heads(), q.seq());
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) delta(head, i) = dot(o.head(head).row(i), d_o.head(head).row(i));
  }
  clear(dq);
  course::TravellingTensor keys(ring, shard_tokens, k);
  course::TravellingTensor values(ring, shard_tokens, v);
  course::TravellingTensor key_sums(ring, shard_tokens, k.heads(), k.head_dim());
  course::TravellingTensor value_sums(ring, shard_tokens, v.heads(), v.head_dim());
  for (int hop = 0; hop < ring.size; ++hop) {
    if (hop > 0) {
      keys.hop();
      values.hop();
      key_sums.hop();
      value_sums.hop();
    }
    block.accumulate({q, keys.block(), values.block(), ring.owner_after(hop), scale}, d_o, lse, delta, dq,
                     key_sums.block(), value_sums.block());
  }
  if (ring.size > 1) {
    key_sums.hop();
    value_sums.hop();
  }
  copy_into(key_sums.block(), dk);
  copy_into(value_sums.block(), dv);
}

void latent_ring_attention(HeadsView<const float> q_nope, HeadsView<const float> q_rope,
                           HeadsView<const float> latent, HeadsView<const float> key_up,
                           HeadsView<const float> value_up, HeadsView<float> o, MatrixView<float> lse,
                           std::span<const int> shard_tokens, const course::BlockForward& block,
                           MPI_Comm comm) {
  const course::Ring ring(comm);
  const Index heads = q_nope.heads();
  const Index n = q_nope.seq();
  const Index nope_dim = q_nope.head_dim();
  const Index rope_dim = q_rope.head_dim();
  const Index latent_dim = key_up.head_dim();
  std::vector<float> absorbed_numbers(heads * n * (latent_dim + rope_dim), 0.0f);
  const HeadsView<float> absorbed(absorbed_numbers.data(), heads, n, latent_dim + rope_dim);
  for (Index head = 0; head < heads; ++head) {
    for (Index i = 0; i < n; ++i) {
      const auto row = absorbed.head(head).row(i);
      for (Index b = 0; b < nope_dim; ++b)
        add_scaled(q_nope(head, i, b), key_up.head(head).row(b), row.first(latent_dim));
      std::ranges::copy(q_rope.head(head).row(i), row.begin() + latent_dim);
    }
  }
  const float scale = 1.0f / std::sqrt(static_cast<float>(nope_dim + rope_dim));
  course::TravellingTensor rows(ring, shard_tokens, latent);
  course::AttentionState state(heads, n, latent_dim);
  for (int hop = 0; hop < ring.size; ++hop) {
    block.accumulate(
        {absorbed, rows.block(), rows.block().first_columns(latent_dim), ring.owner_after(hop), scale},
        state);
    rows.hop();  // at the end of the loop
  }
  std::vector<float> latent_out_numbers(heads * n * latent_dim);
  const HeadsView<float> latent_out(latent_out_numbers.data(), heads, n, latent_dim);
  block.finish(state, latent_out, lse);
  for (Index head = 0; head < heads; ++head) {
    for (Index i = 0; i < n; ++i) {
      for (Index c = 0; c < o.head_dim(); ++c)
        o(head, i, c) = dot(value_up.head(head).row(c), latent_out.head(head).row(i));
    }
  }
}

void latent_block_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                           MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                           HeadsView<float> d_latent, const course::BlockBackward& block) {
  const Index keys = request.v.seq();
  const Index latent_dim = request.v.head_dim();
  std::vector<float> dv_numbers(keys * latent_dim, 0.0f);
  const HeadsView<float> dv(dv_numbers.data(), 1, keys, latent_dim);
  block.accumulate(request, d_o, lse, delta, dq, d_latent, dv);
  for (Index j = 0; j < keys; ++j)
    add_scaled(1.0f, dv.head(0).row(j), d_latent.head(0).row(j).first(latent_dim));
}

}  // namespace lesson15
