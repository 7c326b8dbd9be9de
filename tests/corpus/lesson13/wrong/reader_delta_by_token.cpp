// wrong: delta is written token by token, [queries, heads], and handed on as [heads, queries]
// line: delta[i * heads + h] = sum;
// rating: led
#include "causal_ring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

namespace {

Index tokens_up_to(std::span<const int> shard_tokens, Index rank) {
  return std::reduce(shard_tokens.begin(), shard_tokens.begin() + rank, Index{0});
}

bool all_empty(std::span<const KeyRange> seen) {
  for (const auto& [first, last] : seen) {
    if (first < last) return false;
  }
  return true;
}

/// A block on its way: keys, values, and their gradients in the backward pass.
struct Traveller {
  int owner = 0;
  std::vector<float> k, v, dk, dv;
};

void send_all(const Traveller& t, Index numbers, bool keys, int to, MPI_Comm comm) {
  const int count = static_cast<int>(numbers);
  if (keys) {
    MPI_Send(t.k.data(), count, MPI_FLOAT, to, 0, comm);
    MPI_Send(t.v.data(), count, MPI_FLOAT, to, 1, comm);
  }
  if (!t.dk.empty()) {
    MPI_Send(t.dk.data(), count, MPI_FLOAT, to, 2, comm);
    MPI_Send(t.dv.data(), count, MPI_FLOAT, to, 3, comm);
  }
}

void receive_all(Traveller& t, Index numbers, bool keys, int from, MPI_Comm comm) {
  const int count = static_cast<int>(numbers);
  if (keys) {
    MPI_Recv(t.k.data(), count, MPI_FLOAT, from, 0, comm, MPI_STATUS_IGNORE);
    MPI_Recv(t.v.data(), count, MPI_FLOAT, from, 1, comm, MPI_STATUS_IGNORE);
  }
  if (!t.dk.empty()) {
    MPI_Recv(t.dk.data(), count, MPI_FLOAT, from, 2, comm, MPI_STATUS_IGNORE);
    MPI_Recv(t.dv.data(), count, MPI_FLOAT, from, 3, comm, MPI_STATUS_IGNORE);
  }
}

/// One hop. Odd ranks receive before they send.
void hop(Traveller& held, Traveller& spare, std::span<const int> shard_tokens, Index per_token, bool keys, int rank,
         MPI_Comm comm) {
  const int ranks = static_cast<int>(shard_tokens.size());
  spare.owner = (held.owner + ranks - 1) % ranks;
  const Index out = per_token * shard_tokens[held.owner], in = per_token * shard_tokens[spare.owner];
  const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
  if (rank % 2 == 1) receive_all(spare, in, keys, from, comm);
  send_all(held, out, keys, to, comm);
  if (rank % 2 == 0) receive_all(spare, in, keys, from, comm);
  std::swap(held, spare);
}

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  // position of the key after the last that query 0 sees, seen from the block
  const Index base = first_query - first_key + offset + 1;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    seen[i] = KeyRange{0, std::clamp<Index>(base + static_cast<Index>(i), 0, keys)};
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int ranks = static_cast<int>(shard_tokens.size());
  const int owner = ((rank - step) % ranks + ranks) % ranks;
  std::vector<KeyRange> seen(shard_tokens[rank]);
  key_ranges(tokens_up_to(shard_tokens, rank), tokens_up_to(shard_tokens, owner), shard_tokens[owner], offset, seen);
  Index scores = 0;
  for (const auto& [first, last] : seen) scores += last - first;
  return scores;
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const Index d = q.head_dim();
  const float scale = 1.0f / std::sqrt(static_cast<float>(d));
  MatrixView<float> m = state.m(), l = state.l();
  HeadsView<float> O = state.o();
  std::vector<float> s(k.seq()), sum(d);
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      // the block alone: its maximum, its sum, its output
      float block_m = -std::numeric_limits<float>::infinity();
      for (Index j = seen[i].first; j < seen[i].last; ++j) {
        s[j] = 0.0f;
        for (Index c = 0; c < d; ++c) s[j] += q(h, i, c) * k(h, j, c);
        s[j] *= scale;
        block_m = std::max(block_m, s[j]);
      }
      if (seen[i].first == seen[i].last) continue;
      float block_l = 0.0f;
      std::fill(sum.begin(), sum.end(), 0.0f);
      for (Index j = seen[i].first; j < seen[i].last; ++j) {
        const float p = std::exp(s[j] - block_m);
        block_l += p;
        for (Index c = 0; c < d; ++c) sum[c] += p * v(h, j, c);
      }
      // merged with what was seen before
      const float common = std::max(m(h, i), block_m);
      const float old_factor = std::exp(m(h, i) - common), block_factor = std::exp(block_m - common);
      l(h, i) = old_factor * l(h, i) + block_factor * block_l;
      for (Index c = 0; c < d; ++c) O(h, i, c) = old_factor * O(h, i, c) + block_factor * sum[c];
      m(h, i) = common;
    }
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const Index heads = k.heads(), head_dim = k.head_dim();
  const Index room = heads * head_dim * *std::max_element(shard_tokens.begin(), shard_tokens.end());

  Traveller held{rank, std::vector<float>(room), std::vector<float>(room), {}, {}};
  Traveller spare = held;
  std::copy_n(k.data(), k.size(), held.k.data());
  std::copy_n(v.data(), v.size(), held.v.data());

  course::AttentionState state(heads, q.seq(), head_dim);
  std::vector<KeyRange> seen(q.seq());
  for (int step = 0; step < ranks; ++step) {
    if (step > 0) hop(held, spare, shard_tokens, heads * head_dim, true, rank, comm);
    const Index n = shard_tokens[held.owner];
    key_ranges(tokens_up_to(shard_tokens, rank), tokens_up_to(shard_tokens, held.owner), n, offset, seen);
    if (all_empty(seen)) continue;
    block.accumulate(q, {held.k.data(), heads, n, head_dim}, {held.v.data(), heads, n, head_dim}, seen, held.owner,
                     state);
  }
  block.finish(state, o, lse);
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const Index heads = k.heads(), head_dim = k.head_dim(), queries = q.seq();
  const Index room = heads * head_dim * *std::max_element(shard_tokens.begin(), shard_tokens.end());

  std::vector<float> delta(heads * queries);
  for (Index i = 0; i < queries; ++i) {
    for (Index h = 0; h < heads; ++h) {
      float sum = 0.0f;
      for (Index c = 0; c < head_dim; ++c) sum += o(h, i, c) * d_o(h, i, c);
      delta[i * heads + h] = sum;
    }
  }
  const MatrixView<const float> delta_view(delta.data(), heads, queries);
  std::fill_n(dq.data(), dq.size(), 0.0f);

  Traveller held{rank, std::vector<float>(room), std::vector<float>(room), std::vector<float>(room, 0.0f),
                 std::vector<float>(room, 0.0f)};
  Traveller spare = held;
  std::copy_n(k.data(), k.size(), held.k.data());
  std::copy_n(v.data(), v.size(), held.v.data());

  std::vector<KeyRange> seen(queries);
  for (int step = 0; step < ranks; ++step) {
    if (step > 0) hop(held, spare, shard_tokens, heads * head_dim, true, rank, comm);
    const Index n = shard_tokens[held.owner];
    key_ranges(tokens_up_to(shard_tokens, rank), tokens_up_to(shard_tokens, held.owner), n, offset, seen);
    if (all_empty(seen)) continue;
    block.accumulate(q, {held.k.data(), heads, n, head_dim}, {held.v.data(), heads, n, head_dim}, d_o, lse, delta_view,
                     seen, held.owner, dq, {held.dk.data(), heads, n, head_dim}, {held.dv.data(), heads, n, head_dim});
  }
  // home
  if (ranks > 1) hop(held, spare, shard_tokens, heads * head_dim, false, rank, comm);
  std::copy_n(held.dk.data(), dk.size(), dk.data());
  std::copy_n(held.dv.data(), dv.size(), dv.data());
}

}  // namespace lesson13
