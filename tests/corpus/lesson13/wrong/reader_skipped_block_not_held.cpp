// wrong: where a block is skipped the rooms do not change places, so the next hop passes on the older block again
// line: if (nobody_sees(seen)) continue;
// rating: led
#include "causal_ring.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

namespace {

bool nobody_sees(const std::vector<KeyRange>& seen) {
  return std::none_of(seen.begin(), seen.end(), [](const KeyRange& r) { return r.last > r.first; });
}

std::vector<KeyRange> visible(std::span<const int> lengths, int rank, int owner, Index offset) {
  const Index f_r = std::accumulate(lengths.begin(), lengths.begin() + rank, Index(0));
  const Index f_b = std::accumulate(lengths.begin(), lengths.begin() + owner, Index(0));
  std::vector<KeyRange> seen(lengths[rank]);
  key_ranges(f_r, f_b, lengths[owner], offset, seen);
  return seen;
}

struct Block {
  std::vector<float> k, v;
  Block(Index size) : k(size), v(size) {}
};

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  for (Index i = 0; i < std::ssize(seen); ++i) {
    const Index j_max = first_query + i + offset - first_key;
    if (j_max < 0)
      seen[i] = {0, 0};
    else if (j_max >= keys)
      seen[i] = {0, keys};
    else
      seen[i] = {0, j_max + 1};
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int P = static_cast<int>(shard_tokens.size());
  const int b = (rank - step + P) % P;
  Index scores = 0;
  for (const KeyRange& r : visible(shard_tokens, rank, b, offset)) scores += r.last - r.first;
  return scores;
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const Index d = q.head_dim();
  const float root = std::sqrt(static_cast<float>(d));
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      float m = state.m()(h, i);
      float l = state.l()(h, i);
      const std::span<float> O = state.o().head(h).row(i);
      // one key at a time: lesson 02's step with a vector beside it
      for (Index j = seen[i].first; j < seen[i].last; ++j) {
        float s = 0;
        for (Index c = 0; c < d; ++c) s += q(h, i, c) * k(h, j, c);
        s /= root;
        float weight = 1;
        if (s > m) {
          const float factor = std::exp(m - s);
          l *= factor;
          for (float& x : O) x *= factor;
          m = s;
        } else {
          weight = std::exp(s - m);
        }
        l += weight;
        for (Index c = 0; c < d; ++c) O[c] += weight * v(h, j, c);
      }
      state.m()(h, i) = m;
      state.l()(h, i) = l;
    }
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  int rank, P;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &P);
  const int to = (rank + 1) % P, from = (rank + P - 1) % P;
  const Index row = k.heads() * k.head_dim();
  const Index size = row * *std::max_element(shard_tokens.begin(), shard_tokens.end());

  Block held(size), arrived(size);
  std::copy_n(k.data(), k.size(), held.k.begin());
  std::copy_n(v.data(), v.size(), held.v.begin());

  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  const auto own = visible(shard_tokens, rank, rank, offset);
  if (!nobody_sees(own)) block.accumulate(q, k, v, own, rank, state);

  for (int s = 1; s < P; ++s) {
    const int owner = (rank - s + P) % P, before = (owner + 1) % P;
    const int n_out = static_cast<int>(row * shard_tokens[before]), n_in = static_cast<int>(row * shard_tokens[owner]);
    MPI_Sendrecv(held.k.data(), n_out, MPI_FLOAT, to, 1, arrived.k.data(), n_in, MPI_FLOAT, from, 1, comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(held.v.data(), n_out, MPI_FLOAT, to, 2, arrived.v.data(), n_in, MPI_FLOAT, from, 2, comm,
                 MPI_STATUS_IGNORE);

    const auto seen = visible(shard_tokens, rank, owner, offset);
    if (nobody_sees(seen)) continue;
    const HeadsView<const float> kb(arrived.k.data(), k.heads(), shard_tokens[owner], k.head_dim());
    const HeadsView<const float> vb(arrived.v.data(), v.heads(), shard_tokens[owner], v.head_dim());
    block.accumulate(q, kb, vb, seen, owner, state);
    std::swap(held, arrived);
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
  const int to = (rank + 1) % P, from = (rank + P - 1) % P;
  const Index H = k.heads(), d = k.head_dim();
  const Index size = H * d * *std::max_element(shard_tokens.begin(), shard_tokens.end());

  std::vector<float> D(H * q.seq(), 0.0f);
  for (Index h = 0; h < H; ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      const auto a = o.head(h).row(i), b = d_o.head(h).row(i);
      D[h * q.seq() + i] = std::inner_product(a.begin(), a.end(), b.begin(), 0.0f);
    }
  }
  const MatrixView<const float> delta(D.data(), H, q.seq());

  std::fill_n(dq.data(), dq.size(), 0.0f);
  Block held(size), arrived(size);
  Block sums(size), arrived_sums(size);  // dk and dv of the block that is held
  std::copy_n(k.data(), k.size(), held.k.begin());
  std::copy_n(v.data(), v.size(), held.v.begin());

  const auto hop = [&](std::vector<float>& out, std::vector<float>& in, int sent, int received, int tag) {
    MPI_Sendrecv(out.data(), static_cast<int>(H * d * shard_tokens[sent]), MPI_FLOAT, to, tag, in.data(),
                 static_cast<int>(H * d * shard_tokens[received]), MPI_FLOAT, from, tag, comm, MPI_STATUS_IGNORE);
    std::swap(out, in);
  };
  for (int s = 0; s < P; ++s) {
    const int owner = (rank - s + P) % P, before = (owner + 1) % P;
    if (s > 0) {
      hop(held.k, arrived.k, before, owner, 1);
      hop(held.v, arrived.v, before, owner, 2);
      hop(sums.k, arrived_sums.k, before, owner, 3);
      hop(sums.v, arrived_sums.v, before, owner, 4);
    }
    const auto seen = visible(shard_tokens, rank, owner, offset);
    if (!nobody_sees(seen)) {
      const Index n = shard_tokens[owner];
      block.accumulate(q, {held.k.data(), H, n, d}, {held.v.data(), H, n, d}, d_o, lse, delta, seen, owner, dq,
                       {sums.k.data(), H, n, d}, {sums.v.data(), H, n, d});
    }
  }
  if (P > 1) {
    hop(sums.k, arrived_sums.k, to, rank, 3);
    hop(sums.v, arrived_sums.v, to, rank, 4);
  }
  std::copy_n(sums.k.begin(), dk.size(), dk.data());
  std::copy_n(sums.v.begin(), dv.size(), dv.data());
}

}  // namespace lesson13
