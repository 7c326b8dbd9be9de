// wrong: a rank that has worked on no block does not finish, so o and lse of its queries are never written
// line: if (blocks_done > 0) block.finish(state, o, lse);
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

Index clamp_to_block(Index x, Index keys) {
  return x < 0 ? 0 : (x > keys ? keys : x);
}

/// Who am I, who stands beside me, and where does every shard begin?
struct Place {
  int rank, size;
  std::vector<Index> begin;

  Place(MPI_Comm comm, std::span<const int> shard_tokens) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    Index position = 0;
    for (const int tokens : shard_tokens) {
      begin.push_back(position);
      position += tokens;
    }
  }
  int right() const { return rank + 1 == size ? 0 : rank + 1; }
  int left() const { return rank == 0 ? size - 1 : rank - 1; }
  int owner(int step) const { return rank >= step ? rank - step : rank - step + size; }
};

/// Even ranks send first, odd ranks receive first.
void exchange(const Place& me, const float* out, Index n_out, float* in, Index n_in, int tag, MPI_Comm comm) {
  const int sent = static_cast<int>(n_out), received = static_cast<int>(n_in);
  if (me.rank % 2 == 0) {
    MPI_Send(out, sent, MPI_FLOAT, me.right(), tag, comm);
    MPI_Recv(in, received, MPI_FLOAT, me.left(), tag, comm, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in, received, MPI_FLOAT, me.left(), tag, comm, MPI_STATUS_IGNORE);
    MPI_Send(out, sent, MPI_FLOAT, me.right(), tag, comm);
  }
}

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  for (Index i = 0; i < static_cast<Index>(seen.size()); ++i) {
    seen[i].first = 0;
    seen[i].last = clamp_to_block(first_query + i + offset + 1 - first_key, keys);
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int ranks = static_cast<int>(shard_tokens.size());
  const int owner = rank >= step ? rank - step : rank - step + ranks;
  Index f_rank = 0, f_owner = 0;
  for (int r = 0; r < ranks; ++r) {
    if (r < rank) f_rank += shard_tokens[r];
    if (r < owner) f_owner += shard_tokens[r];
  }
  Index scores = 0;
  for (Index i = f_rank; i < f_rank + shard_tokens[rank]; ++i) {
    scores += clamp_to_block(i + offset + 1 - f_owner, shard_tokens[owner]);
  }
  return scores;
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      const KeyRange keys = seen[i];
      if (keys.first >= keys.last) continue;
      std::vector<float> s;
      for (Index j = keys.first; j < keys.last; ++j) {
        s.push_back(course::dot(q.head(h).row(i), k.head(h).row(j)) * scale);
      }
      const float before = state.m()(h, i);
      const float after = std::max(before, *std::max_element(s.begin(), s.end()));
      const float rescale = std::exp(before - after);
      state.m()(h, i) = after;
      state.l()(h, i) *= rescale;
      course::scal(rescale, state.o().head(h).row(i));
      Index j = keys.first;
      for (const float score : s) {
        const float e = std::exp(score - after);
        state.l()(h, i) += e;
        course::axpy(e, v.head(h).row(j++), state.o().head(h).row(i));
      }
    }
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  const Place me(comm, shard_tokens);
  const Index per_token = k.heads() * k.head_dim();
  const Index longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());
  std::vector<float> k_rooms[2], v_rooms[2];
  for (int i = 0; i < 2; ++i) {
    k_rooms[i].resize(per_token * longest);
    v_rooms[i].resize(per_token * longest);
  }

  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  std::vector<KeyRange> seen(q.seq());
  int blocks_done = 0;
  const float *k_held = k.data(), *v_held = v.data();
  for (int step = 0; step < me.size; ++step) {
    const int b = me.owner(step);
    const Index n = shard_tokens[b];
    key_ranges(me.begin[me.rank], me.begin[b], n, offset, seen);
    Index scores = 0;
    for (const KeyRange& range : seen) scores += range.last - range.first;
    if (scores > 0) {
      block.accumulate(q, HeadsView<const float>(k_held, k.heads(), n, k.head_dim()),
                       HeadsView<const float>(v_held, v.heads(), n, v.head_dim()), seen, b, state);
      ++blocks_done;
    }
    if (step < me.size - 1) {
      const Index coming = shard_tokens[me.owner(step + 1)];
      float* k_to = k_rooms[step & 1].data();
      float* v_to = v_rooms[step & 1].data();
      exchange(me, k_held, per_token * n, k_to, per_token * coming, 0, comm);
      exchange(me, v_held, per_token * n, v_to, per_token * coming, 1, comm);
      k_held = k_to;
      v_held = v_to;
    }
  }
  // without a block l is 0, and there is nothing to divide
  if (blocks_done > 0) block.finish(state, o, lse);
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  const Place me(comm, shard_tokens);
  const Index per_token = k.heads() * k.head_dim();
  const Index longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());

  std::vector<float> delta_store;
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      delta_store.push_back(course::dot(d_o.head(h).row(i), o.head(h).row(i)));
    }
  }
  const MatrixView<const float> delta(delta_store.data(), q.heads(), q.seq());
  std::fill_n(dq.data(), dq.size(), 0.0f);
  std::fill_n(dk.data(), dk.size(), 0.0f);
  std::fill_n(dv.data(), dv.size(), 0.0f);

  std::array<std::vector<float>, 2> k_rooms, v_rooms, dk_rooms, dv_rooms;
  for (auto* rooms : {&k_rooms, &v_rooms, &dk_rooms, &dv_rooms}) {
    for (auto& room : *rooms) room.assign(per_token * longest, 0.0f);
  }

  std::vector<KeyRange> seen(q.seq());
  const float *k_held = k.data(), *v_held = v.data();
  float *dk_held = dk.data(), *dv_held = dv.data();
  for (int step = 0; step < me.size; ++step) {
    const int b = me.owner(step);
    const Index n = shard_tokens[b];
    key_ranges(me.begin[me.rank], me.begin[b], n, offset, seen);
    Index scores = 0;
    for (const KeyRange& range : seen) scores += range.last - range.first;
    if (scores > 0) {
      block.accumulate(q, HeadsView<const float>(k_held, k.heads(), n, k.head_dim()),
                       HeadsView<const float>(v_held, v.heads(), n, v.head_dim()), d_o, lse, delta, seen, b, dq,
                       HeadsView<float>(dk_held, k.heads(), n, k.head_dim()),
                       HeadsView<float>(dv_held, v.heads(), n, v.head_dim()));
    }
    if (step == me.size - 1) break;
    const Index coming = shard_tokens[me.owner(step + 1)];
    const int room = step & 1;
    exchange(me, k_held, per_token * n, k_rooms[room].data(), per_token * coming, 0, comm);
    exchange(me, v_held, per_token * n, v_rooms[room].data(), per_token * coming, 1, comm);
    exchange(me, dk_held, per_token * n, dk_rooms[room].data(), per_token * coming, 2, comm);
    exchange(me, dv_held, per_token * n, dv_rooms[room].data(), per_token * coming, 3, comm);
    k_held = k_rooms[room].data();
    v_held = v_rooms[room].data();
    dk_held = dk_rooms[room].data();
    dv_held = dv_rooms[room].data();
  }
  if (me.size > 1) {
    const Index n = shard_tokens[me.right()];
    exchange(me, dk_held, per_token * n, dk.data(), dk.size(), 2, comm);
    exchange(me, dv_held, per_token * n, dv.data(), dv.size(), 3, comm);
  }
}

}  // namespace lesson13
