// wrong: whether a block is seen is asked of positions alone, so a block without keys, or any earlier block on a rank without queries, counts as seen
// line: return start[owner] <= start[rank] + tokens[rank] - 1 + offset;
// mistake: empty_block_computed
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

struct Sequence {
  std::span<const int> tokens;
  Index offset;
  std::vector<Index> start;

  Sequence(std::span<const int> shard_tokens, Index c) : tokens(shard_tokens), offset(c) {
    for (std::size_t r = 0; r < tokens.size(); ++r) {
      start.push_back(r == 0 ? 0 : start.back() + tokens[r - 1]);
    }
  }

  /// Is there work for rank in owner's block: does its last query see the block's first key?
  bool has_work(int rank, int owner) const {
    return start[owner] <= start[rank] + tokens[rank] - 1 + offset;
  }

  std::vector<KeyRange> seen(int rank, int owner) const {
    std::vector<KeyRange> ranges(tokens[rank]);
    key_ranges(start[rank], start[owner], tokens[owner], offset, ranges);
    return ranges;
  }
};

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  const Index of_first_query = first_query + offset + 1 - first_key;
  for (std::size_t i = 0; i != seen.size(); ++i) {
    const Index last = of_first_query + static_cast<Index>(i);
    seen[i] = {.first = 0, .last = std::min(keys, std::max<Index>(last, 0))};
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const Sequence sequence(shard_tokens, offset);
  const int P = static_cast<int>(shard_tokens.size());
  const std::vector<KeyRange> seen = sequence.seen(rank, (rank - step + P) % P);
  return std::accumulate(seen.begin(), seen.end(), Index{0},
                         [](Index sum, const KeyRange& range) { return sum + (range.last - range.first); });
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  std::vector<float> all(q.seq() * k.seq());
  const MatrixView<float> scores(all.data(), q.seq(), k.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    course::gemm(scale, q.head(h), course::transposed(k.head(h)), 0.0f, scores);
    for (Index i = 0; i < q.seq(); ++i) {
      const Index first = seen[i].first, last = seen[i].last;
      if (first == last) continue;
      const std::span<float> s = scores.row(i).subspan(first, last - first);
      float& m = state.m()(h, i);
      float& l = state.l()(h, i);
      const auto o = state.o().head(h).row(i);
      const float m_old = m;
      m = std::max(m_old, course::maximum(s));
      const float factor = std::exp(m_old - m);
      l = factor * l + course::exponentiate(s, m);
      course::scal(factor, o);
      for (Index j = first; j < last; ++j) course::axpy(scores(i, j), v.head(h).row(j), o);
    }
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  int rank, P;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &P);
  const Sequence sequence(shard_tokens, offset);
  const Index H = k.heads(), d = k.head_dim();
  const int longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());

  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  std::array<std::vector<float>, 2> k_room, v_room;
  for (auto& room : k_room) room.resize(H * longest * d);
  for (auto& room : v_room) room.resize(H * longest * d);

  HeadsView<const float> k_held = k, v_held = v;
  for (int s = 0; s < P; ++s) {
    const int b = (rank - s + P) % P;
    if (sequence.has_work(rank, b)) block.accumulate(q, k_held, v_held, sequence.seen(rank, b), b, state);
    if (s == P - 1) break;

    const int coming = (b - 1 + P) % P;
    const HeadsView<float> k_in(k_room[s % 2].data(), H, shard_tokens[coming], d);
    const HeadsView<float> v_in(v_room[s % 2].data(), H, shard_tokens[coming], d);
    std::array<MPI_Request, 4> open;
    MPI_Isend(k_held.data(), static_cast<int>(k_held.size()), MPI_FLOAT, (rank + 1) % P, 0, comm, &open[0]);
    MPI_Irecv(k_in.data(), static_cast<int>(k_in.size()), MPI_FLOAT, (rank - 1 + P) % P, 0, comm, &open[1]);
    MPI_Isend(v_held.data(), static_cast<int>(v_held.size()), MPI_FLOAT, (rank + 1) % P, 1, comm, &open[2]);
    MPI_Irecv(v_in.data(), static_cast<int>(v_in.size()), MPI_FLOAT, (rank - 1 + P) % P, 1, comm, &open[3]);
    MPI_Waitall(static_cast<int>(open.size()), open.data(), MPI_STATUSES_IGNORE);
    k_held = k_in;
    v_held = v_in;
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
  const Sequence sequence(shard_tokens, offset);
  const Index H = k.heads(), d = k.head_dim();
  const int longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());

  std::vector<float> D(q.heads() * q.seq());
  for (Index row = 0; row < q.heads() * q.seq(); ++row) {
    const std::size_t width = d;
    D[row] = course::dot({o.data() + row * d, width}, {d_o.data() + row * d, width});
  }
  const MatrixView<const float> delta(D.data(), q.heads(), q.seq());

  std::fill(dq.data(), dq.data() + dq.size(), 0.0f);
  std::fill(dk.data(), dk.data() + dk.size(), 0.0f);
  std::fill(dv.data(), dv.data() + dv.size(), 0.0f);

  std::array<std::vector<float>, 2> k_room, v_room, dk_room, dv_room;
  for (int i = 0; i < 2; ++i) {
    k_room[i].resize(H * longest * d);
    v_room[i].resize(H * longest * d);
    dk_room[i].resize(H * longest * d);
    dv_room[i].resize(H * longest * d);
  }

  const auto pass = [&](HeadsView<const float> out, HeadsView<float> in, int tag) {
    MPI_Sendrecv(out.data(), static_cast<int>(out.size()), MPI_FLOAT, (rank + 1) % P, tag, in.data(),
                 static_cast<int>(in.size()), MPI_FLOAT, (rank - 1 + P) % P, tag, comm, MPI_STATUS_IGNORE);
  };
  HeadsView<const float> k_held = k, v_held = v;
  HeadsView<float> dk_held = dk, dv_held = dv;
  for (int s = 0; s < P; ++s) {
    const int b = (rank - s + P) % P;
    if (sequence.has_work(rank, b)) {
      block.accumulate(q, k_held, v_held, d_o, lse, delta, sequence.seen(rank, b), b, dq, dk_held, dv_held);
    }
    if (s == P - 1) break;
    const Index n = shard_tokens[(b - 1 + P) % P];
    const HeadsView<float> k_in(k_room[s % 2].data(), H, n, d), v_in(v_room[s % 2].data(), H, n, d);
    const HeadsView<float> dk_in(dk_room[s % 2].data(), H, n, d), dv_in(dv_room[s % 2].data(), H, n, d);
    pass(k_held, k_in, 0);
    pass(v_held, v_in, 1);
    pass(dk_held, dk_in, 2);
    pass(dv_held, dv_in, 3);
    k_held = k_in;
    v_held = v_in;
    dk_held = dk_in;
    dv_held = dv_in;
  }
  if (P > 1) {
    pass(dk_held, dk, 2);
    pass(dv_held, dv, 3);
  }
}

}  // namespace lesson13
