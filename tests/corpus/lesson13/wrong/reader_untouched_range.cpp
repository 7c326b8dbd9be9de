// wrong: a query that sees nothing of the block is passed over, so its entry of seen keeps whatever it held before
// line: if (past <= 0) continue;
// rating: led
#include "causal_ring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "tensor/linear_algebra.hpp"

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

namespace {

Index first_of(int rank, std::span<const int> shard_tokens) {
  return std::accumulate(shard_tokens.begin(), shard_tokens.begin() + rank, Index{0});
}

bool any_key(const std::vector<KeyRange>& seen) {
  for (const KeyRange& range : seen) {
    if (range.last > range.first) return true;
  }
  return false;
}

int floats(HeadsView<const float> like, int tokens) {
  return static_cast<int>(like.heads() * tokens * like.head_dim());
}

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  for (std::size_t i = 0; i < seen.size(); ++i) {
    // one past the last key that query i sees, counted in the block
    const Index past = first_query + static_cast<Index>(i) + offset + 1 - first_key;
    if (past <= 0) continue;
    seen[i] = {0, std::min(past, keys)};
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int ranks = static_cast<int>(shard_tokens.size());
  const int owner = (rank - step + ranks) % ranks;
  std::vector<KeyRange> seen(shard_tokens[rank]);
  key_ranges(first_of(rank, shard_tokens), first_of(owner, shard_tokens), shard_tokens[owner], offset, seen);
  Index scores = 0;
  for (const KeyRange& range : seen) scores += range.last - range.first;
  return scores;
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  std::vector<float> s(k.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      const auto [first, last] = seen[i];
      if (first == last) continue;
      float& m = state.m()(h, i);
      float& l = state.l()(h, i);
      const auto o = state.o().head(h).row(i);

      float top = m;
      for (Index j = first; j < last; ++j) {
        s[j] = scale * course::dot(q.head(h).row(i), k.head(h).row(j));
        top = std::max(top, s[j]);
      }
      const float factor = std::exp(m - top);
      l *= factor;
      course::scal(factor, o);
      for (Index j = first; j < last; ++j) {
        const float p = std::exp(s[j] - top);
        l += p;
        course::axpy(p, v.head(h).row(j), o);
      }
      m = top;
    }
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  int rank, ranks;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  const int longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());

  std::array<std::vector<float>, 2> k_room, v_room;
  for (int room = 0; room < 2; ++room) {
    k_room[room].resize(floats(k, longest));
    v_room[room].resize(floats(v, longest));
  }

  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  std::vector<KeyRange> seen(q.seq());
  const float* k_held = k.data();
  const float* v_held = v.data();
  for (int step = 0; step < ranks; ++step) {
    const int owner = (rank - step + ranks) % ranks;
    const int tokens = shard_tokens[owner];
    key_ranges(first_of(rank, shard_tokens), first_of(owner, shard_tokens), tokens, offset, seen);
    if (any_key(seen)) {
      block.accumulate(q, {k_held, k.heads(), tokens, k.head_dim()}, {v_held, v.heads(), tokens, v.head_dim()},
                       seen, owner, state);
    }
    if (step + 1 == ranks) break;
    const int arriving = shard_tokens[(owner + ranks - 1) % ranks];
    float* k_next = k_room[step % 2].data();
    float* v_next = v_room[step % 2].data();
    MPI_Sendrecv(k_held, floats(k, tokens), MPI_FLOAT, right, 0, k_next, floats(k, arriving), MPI_FLOAT, left, 0,
                 comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(v_held, floats(v, tokens), MPI_FLOAT, right, 1, v_next, floats(v, arriving), MPI_FLOAT, left, 1,
                 comm, MPI_STATUS_IGNORE);
    k_held = k_next;
    v_held = v_next;
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
  const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
  const int longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());

  std::vector<float> delta(q.heads() * q.seq());
  const MatrixView<float> delta_view(delta.data(), q.heads(), q.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) delta_view(h, i) = course::dot(o.head(h).row(i), d_o.head(h).row(i));
  }
  std::fill_n(dq.data(), dq.size(), 0.0f);
  std::fill_n(dk.data(), dk.size(), 0.0f);
  std::fill_n(dv.data(), dv.size(), 0.0f);

  // rooms: k, v, dk, dv
  std::array<std::array<std::vector<float>, 4>, 2> rooms;
  for (auto& room : rooms) {
    for (auto& tensor : room) tensor.resize(floats(k, longest));
  }

  std::vector<KeyRange> seen(q.seq());
  const float *k_held = k.data(), *v_held = v.data();
  float *dk_held = dk.data(), *dv_held = dv.data();
  for (int step = 0; step < ranks; ++step) {
    const int owner = (rank - step + ranks) % ranks;
    const Index tokens = shard_tokens[owner];
    key_ranges(first_of(rank, shard_tokens), first_of(owner, shard_tokens), tokens, offset, seen);
    if (any_key(seen)) {
      block.accumulate(q, {k_held, k.heads(), tokens, k.head_dim()}, {v_held, k.heads(), tokens, k.head_dim()},
                       d_o, lse, delta_view, seen, owner, dq, {dk_held, k.heads(), tokens, k.head_dim()},
                       {dv_held, k.heads(), tokens, k.head_dim()});
    }
    if (ranks == 1) return;
    const int out = floats(k, shard_tokens[owner]);
    const int in = floats(k, shard_tokens[(owner + ranks - 1) % ranks]);
    auto& room = rooms[step % 2];
    const auto hop = [&](const float* from, float* to, int tag) {
      MPI_Sendrecv(from, out, MPI_FLOAT, right, tag, to, in, MPI_FLOAT, left, tag, comm, MPI_STATUS_IGNORE);
    };
    if (step + 1 < ranks) {
      hop(k_held, room[0].data(), 0);
      hop(v_held, room[1].data(), 1);
      hop(dk_held, room[2].data(), 2);
      hop(dv_held, room[3].data(), 3);
      k_held = room[0].data();
      v_held = room[1].data();
      dk_held = room[2].data();
      dv_held = room[3].data();
    } else {
      // the way home
      hop(dk_held, dk.data(), 2);
      hop(dv_held, dv.data(), 3);
    }
  }
}

}  // namespace lesson13
