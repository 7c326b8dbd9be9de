// wrong: the largest score is not reset from one query to the next, so a query's maximum includes the scores of the queries above it
// line: float top = -std::numeric_limits<float>::infinity();
// rating: led
#include "causal_ring.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

static Index tokens_before(std::span<const int> shard_tokens, int rank) {
  Index sum = 0;
  for (int r = 0; r < rank; r++) sum += shard_tokens[r];
  return sum;
}

static int mod(int a, int p) {
  return (a % p + p) % p;
}

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  for (size_t i = 0; i < seen.size(); i++) {
    Index last_position = first_query + Index(i) + offset;
    Index count = last_position - first_key + 1;
    if (count < 0) count = 0;
    if (count > keys) count = keys;
    seen[i].first = 0;
    seen[i].last = count;
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  int owner = mod(rank - step, int(shard_tokens.size()));
  Index fr = tokens_before(shard_tokens, rank), fb = tokens_before(shard_tokens, owner);
  Index nb = shard_tokens[owner];
  Index total = 0;
  for (Index i = 0; i < shard_tokens[rank]; i++) {
    total += std::min(nb, std::max(Index(0), fr + i + offset + 1 - fb));
  }
  return total;
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const Index d = q.head_dim();
  const float scale = 1 / std::sqrt(float(d));
  std::vector<float> s(k.seq());
  for (Index h = 0; h < q.heads(); h++) {
    float top = -std::numeric_limits<float>::infinity();
    for (Index i = 0; i < q.seq(); i++) {
      if (seen[i].first == seen[i].last) continue;  // keeps its state

      for (Index j = seen[i].first; j < seen[i].last; j++) {
        float dot = 0;
        for (Index c = 0; c < d; c++) dot += q(h, i, c) * k(h, j, c);
        s[j] = dot * scale;
        if (s[j] > top) top = s[j];
      }

      const float m_old = state.m()(h, i);
      const float m_new = std::max(m_old, top);
      const float factor = std::exp(m_old - m_new);
      float l = state.l()(h, i) * factor;
      for (Index c = 0; c < d; c++) state.o()(h, i, c) *= factor;
      for (Index j = seen[i].first; j < seen[i].last; j++) {
        const float w = std::exp(s[j] - m_new);
        l += w;
        for (Index c = 0; c < d; c++) state.o()(h, i, c) += w * v(h, j, c);
      }
      state.m()(h, i) = m_new;
      state.l()(h, i) = l;
    }
  }
}

static bool see_something(const std::vector<KeyRange>& seen) {
  for (auto& range : seen)
    if (range.first < range.last) return true;
  return false;
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  int rank, P;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &P);
  const Index H = k.heads(), d = k.head_dim();
  int max_tokens = 0;
  for (int n : shard_tokens) max_tokens = std::max(max_tokens, n);

  std::vector<float> k_held(k.data(), k.data() + k.size()), v_held(v.data(), v.data() + v.size());
  std::vector<float> k_new(H * max_tokens * d), v_new(H * max_tokens * d);
  k_held.resize(k_new.size());
  v_held.resize(v_new.size());

  course::AttentionState state(q.heads(), q.seq(), d);
  std::vector<KeyRange> seen(q.seq());
  int held = rank;
  for (int s = 0;; s++) {
    const Index n = shard_tokens[held];
    key_ranges(tokens_before(shard_tokens, rank), tokens_before(shard_tokens, held), n, offset, seen);
    if (see_something(seen)) {
      HeadsView<const float> kb(k_held.data(), H, n, d), vb(v_held.data(), H, n, d);
      block.accumulate(q, kb, vb, seen, held, state);
    }
    if (s == P - 1) break;

    const int coming = mod(held - 1, P);
    const int out = int(H * n * d), in = int(H * shard_tokens[coming] * d);
    MPI_Request req[4];
    MPI_Irecv(k_new.data(), in, MPI_FLOAT, mod(rank - 1, P), 0, comm, &req[0]);
    MPI_Irecv(v_new.data(), in, MPI_FLOAT, mod(rank - 1, P), 1, comm, &req[1]);
    MPI_Isend(k_held.data(), out, MPI_FLOAT, mod(rank + 1, P), 0, comm, &req[2]);
    MPI_Isend(v_held.data(), out, MPI_FLOAT, mod(rank + 1, P), 1, comm, &req[3]);
    MPI_Waitall(4, req, MPI_STATUSES_IGNORE);
    std::swap(k_held, k_new);
    std::swap(v_held, v_new);
    held = coming;
  }
  block.finish(state, o, lse);
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  int rank, P;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &P);
  const Index H = k.heads(), d = k.head_dim();
  int max_tokens = 0;
  for (int n : shard_tokens) max_tokens = std::max(max_tokens, n);
  const Index size = H * max_tokens * d;

  std::vector<float> delta_data(q.heads() * q.seq());
  MatrixView<float> delta(delta_data.data(), q.heads(), q.seq());
  for (Index h = 0; h < q.heads(); h++)
    for (Index i = 0; i < q.seq(); i++)
      for (Index c = 0; c < d; c++) delta(h, i) += o(h, i, c) * d_o(h, i, c);
  std::fill_n(dq.data(), dq.size(), 0.f);

  std::vector<float> k_held(size), v_held(size), dk_held(size), dv_held(size);
  std::vector<float> k_new(size), v_new(size), dk_new(size), dv_new(size);
  std::copy_n(k.data(), k.size(), k_held.begin());
  std::copy_n(v.data(), v.size(), v_held.begin());

  std::vector<KeyRange> seen(q.seq());
  int held = rank;
  for (int s = 0; s < P; s++) {
    const Index n = shard_tokens[held];
    key_ranges(tokens_before(shard_tokens, rank), tokens_before(shard_tokens, held), n, offset, seen);
    if (see_something(seen)) {
      HeadsView<const float> kb(k_held.data(), H, n, d), vb(v_held.data(), H, n, d);
      HeadsView<float> dkb(dk_held.data(), H, n, d), dvb(dv_held.data(), H, n, d);
      block.accumulate(q, kb, vb, d_o, lse, delta, seen, held, dq, dkb, dvb);
    }
    if (P == 1) break;

    // after the last block only the gradients go on
    const int coming = mod(held - 1, P);
    const int out = int(H * n * d), in = int(H * shard_tokens[coming] * d);
    auto exchange = [&](std::vector<float>& a, std::vector<float>& b, int tag) {
      MPI_Sendrecv(a.data(), out, MPI_FLOAT, mod(rank + 1, P), tag, b.data(), in, MPI_FLOAT, mod(rank - 1, P),
                   tag, comm, MPI_STATUS_IGNORE);
      std::swap(a, b);
    };
    if (s < P - 1) {
      exchange(k_held, k_new, 0);
      exchange(v_held, v_new, 1);
    }
    exchange(dk_held, dk_new, 2);
    exchange(dv_held, dv_new, 3);
    held = coming;
  }
  std::copy_n(dk_held.begin(), dk.size(), dk.data());
  std::copy_n(dv_held.begin(), dv.size(), dv.data());
}

}  // namespace lesson13
