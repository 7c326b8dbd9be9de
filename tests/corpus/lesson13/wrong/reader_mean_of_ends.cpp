// wrong: the scores are taken as queries times the mean of what the first and the last query see, which fails where a cut falls between them
// line: return queries * (visible(0) + visible(queries - 1)) / 2;
// rating: led
#include "causal_ring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "tensor/exponential.hpp"
#include "tensor/linear_algebra.hpp"

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

namespace {

std::vector<Index> first_positions(std::span<const int> shard_tokens) {
  std::vector<Index> first{0};
  for (const int tokens : shard_tokens) first.push_back(first.back() + tokens);
  return first;
}

struct Ring {
  int rank, ranks, next, previous;
  MPI_Comm comm;

  explicit Ring(MPI_Comm c) : comm(c) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    next = (rank + 1) % ranks;
    previous = (rank + ranks - 1) % ranks;
  }

  int owner(int hops) const { return ((rank - hops) % ranks + ranks) % ranks; }

  void pass(HeadsView<const float> from, HeadsView<float> to, int tag) const {
    MPI_Request requests[2];
    MPI_Irecv(to.data(), static_cast<int>(to.size()), MPI_FLOAT, previous, tag, comm, &requests[0]);
    MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_FLOAT, next, tag, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  }
};

/// Two buffers, which take turns.
class Rooms {
 public:
  explicit Rooms(Index size) : room_{std::vector<float>(size), std::vector<float>(size)} {}
  float* other() {
    turn_ ^= 1;
    return room_[turn_].data();
  }

 private:
  std::array<std::vector<float>, 2> room_;
  int turn_ = 0;
};

bool nothing(std::span<const KeyRange> seen) {
  return std::ranges::all_of(seen, [](const KeyRange& range) { return range.first >= range.last; });
}

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  const Index queries = static_cast<Index>(seen.size());
  for (Index i = 0; i < queries; ++i) {
    const Index end = first_query + i + offset + 1;  // position
    seen[i] = KeyRange{0, std::max(Index{0}, std::min(keys, end - first_key))};
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int ranks = static_cast<int>(shard_tokens.size());
  const int owner = (rank + ranks - step) % ranks;
  const std::vector<Index> first = first_positions(shard_tokens);
  const Index queries = shard_tokens[rank], keys = shard_tokens[owner];
  if (queries == 0 || keys == 0) return 0;
  const auto visible = [&](Index i) {
    return std::clamp<Index>(first[rank] + i + offset + 1 - first[owner], 0, keys);
  };
  // an arithmetic series, no need to go through all queries
  return queries * (visible(0) + visible(queries - 1)) / 2;
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  if (q.seq() == 0 || k.seq() == 0) return;
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  std::vector<float> numbers(q.seq() * k.seq());
  const MatrixView<float> s(numbers.data(), q.seq(), k.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    course::gemm(scale, q.head(h), course::transposed(k.head(h)), 0.0f, s);
    const auto m = state.m().row(h), l = state.l().row(h);
    const auto o = state.o().head(h);
    for (Index i = 0; i < q.seq(); ++i) {
      const std::span<float> row = s.row(i).subspan(seen[i].first, seen[i].last - seen[i].first);
      float factor = 1.0f;
      if (!row.empty()) {
        const float highest = std::max(m[i], course::maximum(row));
        factor = std::exp(m[i] - highest);
        l[i] = factor * l[i] + course::exponentiate(row, highest);
        m[i] = highest;
      }
      course::scal(factor, o.row(i));
      for (Index j = 0; j < k.seq(); ++j) {
        if (j < seen[i].first || j >= seen[i].last) s(i, j) = 0.0f;
      }
    }
    course::gemm(1.0f, s, v.head(h), 1.0f, o);
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  const Ring ring(comm);
  const std::vector<Index> first = first_positions(shard_tokens);
  const Index room = k.heads() * k.head_dim() * std::ranges::max(shard_tokens);
  Rooms k_rooms(room), v_rooms(room);
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  std::vector<KeyRange> seen(q.seq());

  HeadsView<const float> k_now = k, v_now = v;
  for (int hop = 0; hop < ring.ranks; ++hop) {
    const int owner = ring.owner(hop);
    const Index keys = shard_tokens[owner];
    if (hop > 0) {
      const HeadsView<float> k_new(k_rooms.other(), k.heads(), keys, k.head_dim());
      const HeadsView<float> v_new(v_rooms.other(), v.heads(), keys, v.head_dim());
      ring.pass(k_now, k_new, 10);
      ring.pass(v_now, v_new, 11);
      k_now = k_new;
      v_now = v_new;
    }
    key_ranges(first[ring.rank], first[owner], keys, offset, seen);
    if (!nothing(seen)) block.accumulate(q, k_now, v_now, seen, owner, state);
  }
  block.finish(state, o, lse);
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  const Ring ring(comm);
  const std::vector<Index> first = first_positions(shard_tokens);
  for (const HeadsView<float> gradient : {dq, dk, dv}) {
    std::fill(gradient.data(), gradient.data() + gradient.size(), 0.0f);
  }
  std::vector<float> products(q.heads() * q.seq());
  const MatrixView<float> delta(products.data(), q.heads(), q.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) {
      float sum = 0.0f;
      for (Index c = 0; c < q.head_dim(); ++c) sum += o(h, i, c) * d_o(h, i, c);
      delta(h, i) = sum;
    }
  }

  const Index room = k.heads() * k.head_dim() * std::ranges::max(shard_tokens);
  Rooms k_rooms(room), v_rooms(room), dk_rooms(room), dv_rooms(room);
  std::vector<KeyRange> seen(q.seq());
  HeadsView<const float> k_now = k, v_now = v;
  HeadsView<float> dk_now = dk, dv_now = dv;
  for (int hop = 0; hop < ring.ranks; ++hop) {
    const int owner = ring.owner(hop);
    const Index keys = shard_tokens[owner];
    if (hop > 0) {
      const auto view = [&](float* data) { return HeadsView<float>(data, k.heads(), keys, k.head_dim()); };
      const HeadsView<float> k_new = view(k_rooms.other()), v_new = view(v_rooms.other());
      const HeadsView<float> dk_new = view(dk_rooms.other()), dv_new = view(dv_rooms.other());
      ring.pass(k_now, k_new, 10);
      ring.pass(v_now, v_new, 11);
      ring.pass(dk_now, dk_new, 12);
      ring.pass(dv_now, dv_new, 13);
      k_now = k_new;
      v_now = v_new;
      dk_now = dk_new;
      dv_now = dv_new;
    }
    key_ranges(first[ring.rank], first[owner], keys, offset, seen);
    if (!nothing(seen)) block.accumulate(q, k_now, v_now, d_o, lse, delta, seen, owner, dq, dk_now, dv_now);
  }
  if (ring.ranks > 1) {
    ring.pass(dk_now, dk, 12);
    ring.pass(dv_now, dv, 13);
  }
}

}  // namespace lesson13
