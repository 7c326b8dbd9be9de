// right: no TravellingTensor in tasks 4 and 5: K and V in one message of exact length, Isend and Irecv under the work, the sums hop after each block
#include "grouped_queries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace lesson15 {
namespace {

/// K and V of one shard packed into one message of its exact length, exchanged by Isend and Irecv.
struct Packed {
  std::vector<float> here, next;
  Index heads, first, second;
  std::span<const int> tokens;
  int rank, size, at = 0;
  MPI_Comm comm;

  int owner(int hops) const { return ((rank - hops) % size + size) % size; }
  Index count(int hops) const { return heads * (first + second) * tokens[owner(hops)]; }
  course::HeadsView<float> a() { return {here.data(), heads, tokens[owner(at)], first}; }
  course::HeadsView<float> b() { return {here.data() + heads * first * tokens[owner(at)], heads, tokens[owner(at)], second}; }

  Packed(Index heads_, Index first_, Index second_, std::span<const int> tokens_, MPI_Comm comm_)
      : heads(heads_), first(first_), second(second_), tokens(tokens_), comm(comm_) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    here.assign(count(0), 0.0f);
  }
  MPI_Request requests[2];
  void start() {
    next.resize(count(at + 1));
    MPI_Irecv(next.data(), static_cast<int>(next.size()), MPI_FLOAT, (rank + size - 1) % size, 7, comm, &requests[0]);
    MPI_Isend(here.data(), static_cast<int>(here.size()), MPI_FLOAT, (rank + 1) % size, 7, comm, &requests[1]);
  }
  void wait() {
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    std::swap(here, next);
    ++at;
  }
};

}  // namespace
}  // namespace lesson15


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
  Packed kv(k.heads(), k.head_dim(), v.head_dim(), shard_tokens, comm);
  copy_into(k, kv.a());
  copy_into(v, kv.b());
  course::AttentionState state(q.heads(), q.seq(), v.head_dim());
  for (int step = 0; step < kv.size; ++step) {
    const bool more = step + 1 < kv.size;
    if (more) kv.start();
    block.accumulate({.q = q, .k = kv.a(), .v = kv.b(), .owner = kv.owner(step), .scale = scale}, state);
    if (more) kv.wait();
  }
  block.finish(state, o, lse);
}

void grouped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                           HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv, float scale,
                           std::span<const int> shard_tokens, const course::BlockBackward& block,
                           MPI_Comm comm) {
  std::vector<float> numbers;
  for (Index head = 0; head < q.heads(); ++head)
    for (Index i = 0; i < q.seq(); ++i) numbers.push_back(dot(o.head(head).row(i), d_o.head(head).row(i)));
  const MatrixView<const float> delta(numbers.data(), q.heads(), q.seq());
  clear(dq);
  Packed kv(k.heads(), k.head_dim(), v.head_dim(), shard_tokens, comm);
  copy_into(k, kv.a());
  copy_into(v, kv.b());
  Packed sums(k.heads(), k.head_dim(), v.head_dim(), shard_tokens, comm);
  for (int step = 0; step < kv.size; ++step) {
    const bool more = step + 1 < kv.size;
    if (more) kv.start();
    block.accumulate({q, kv.a(), kv.b(), kv.owner(step), scale}, d_o, lse, delta, dq, sums.a(), sums.b());
    if (more) kv.wait();
    if (kv.size > 1) {
      sums.start();
      sums.wait();
    }
  }
  copy_into(sums.a(), dk);
  copy_into(sums.b(), dv);
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
    if (hop > 0) rows.hop();
    block.accumulate(
        {absorbed, rows.block(), rows.block().first_columns(latent_dim), ring.owner_after(hop), scale},
        state);
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
