// wrong: dk and dv are set to 0 only where the rank works on its own block, so without that the sums begin with what the memory held
// line: for (HeadsView<float> sum : {dk, dv}) std::fill_n(sum.data(), sum.size(), 0.0f);
// rating: led
#include "causal_ring.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

namespace {

using Rows = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class T>
auto array(MatrixView<T> view) {
  using Type = std::conditional_t<std::is_const_v<T>, const Rows, Rows>;
  return Eigen::Map<Type>(view.data(), view.rows(), view.cols());
}

Index prefix(std::span<const int> shard_tokens, int rank) {
  Index tokens = 0;
  for (const int n : shard_tokens.first(rank)) tokens += n;
  return tokens;
}

/// What `rank` sees of the block of `owner`; empty if that is nothing at all.
std::vector<KeyRange> view_of(std::span<const int> shard_tokens, int rank, int owner, Index offset) {
  std::vector<KeyRange> seen(shard_tokens[rank]);
  key_ranges(prefix(shard_tokens, rank), prefix(shard_tokens, owner), shard_tokens[owner], offset, seen);
  for (const KeyRange range : seen) {
    if (range.first != range.last) return seen;
  }
  return {};
}

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  Index query = first_query;
  for (KeyRange& range : seen) {
    const Index sees_up_to = query++ + offset;  // the last position
    range.first = 0;
    range.last = sees_up_to < first_key ? 0 : std::min(keys, sees_up_to - first_key + 1);
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int ranks = static_cast<int>(shard_tokens.size());
  Index sum = 0;
  for (const KeyRange range : view_of(shard_tokens, rank, (rank + ranks - step) % ranks, offset)) {
    sum += range.last - range.first;
  }
  return sum;
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  for (Index h = 0; h < q.heads(); ++h) {
    const auto Q = array(q.head(h)), K = array(k.head(h)), V = array(v.head(h));
    auto O = array(state.o().head(h));
    for (Index i = 0; i < q.seq(); ++i) {
      const Index j = seen[i].first, n = seen[i].last - seen[i].first;
      if (n == 0) continue;
      Eigen::VectorXf s = K.middleRows(j, n).matrix() * Q.row(i).matrix().transpose();
      s *= scale;
      const float old = state.m()(h, i);
      const float now = std::max(old, s.maxCoeff());
      const Eigen::VectorXf p = s.unaryExpr([now](float x) { return std::exp(x - now); });
      const float keep = std::exp(old - now);
      O.row(i) *= keep;
      O.row(i).matrix() += p.transpose() * V.middleRows(j, n).matrix();
      state.l()(h, i) = keep * state.l()(h, i) + p.sum();
      state.m()(h, i) = now;
    }
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  int me = 0, ranks = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  const int after = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  const Index width = k.heads() * k.head_dim();
  const Index longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());

  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  std::vector<float> k_a(width * longest), k_b(k_a), v_a(k_a), v_b(k_a);
  const float* k_held = k.data();
  const float* v_held = v.data();
  int held = me;
  for (int left_to_do = ranks; left_to_do > 0; --left_to_do) {
    if (const auto seen = view_of(shard_tokens, me, held, offset); !seen.empty()) {
      block.accumulate(q, {k_held, k.heads(), shard_tokens[held], k.head_dim()},
                       {v_held, v.heads(), shard_tokens[held], v.head_dim()}, seen, held, state);
    }
    if (left_to_do == 1) break;
    const int coming = (held + ranks - 1) % ranks;
    MPI_Sendrecv(k_held, static_cast<int>(width * shard_tokens[held]), MPI_FLOAT, after, 3, k_a.data(),
                 static_cast<int>(width * shard_tokens[coming]), MPI_FLOAT, before, 3, comm, MPI_STATUS_IGNORE);
    MPI_Sendrecv(v_held, static_cast<int>(width * shard_tokens[held]), MPI_FLOAT, after, 4, v_a.data(),
                 static_cast<int>(width * shard_tokens[coming]), MPI_FLOAT, before, 4, comm, MPI_STATUS_IGNORE);
    k_held = k_a.data();
    v_held = v_a.data();
    k_a.swap(k_b);
    v_a.swap(v_b);
    held = coming;
  }
  block.finish(state, o, lse);
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  int me = 0, ranks = 0;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &ranks);
  const int after = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
  const Index heads = k.heads(), head_dim = k.head_dim();
  const Index longest = *std::max_element(shard_tokens.begin(), shard_tokens.end());

  Rows delta(heads, q.seq());
  for (Index h = 0; h < heads; ++h) delta.row(h) = (array(o.head(h)) * array(d_o.head(h))).rowwise().sum();
  const MatrixView<const float> D(delta.data(), heads, q.seq());

  // the own block first; its sums begin in the outputs
  std::fill_n(dq.data(), dq.size(), 0.0f);
  if (const auto seen = view_of(shard_tokens, me, me, offset); !seen.empty()) {
    for (HeadsView<float> sum : {dk, dv}) std::fill_n(sum.data(), sum.size(), 0.0f);
    block.accumulate(q, k, v, d_o, lse, D, seen, me, dq, dk, dv);
  }
  if (ranks == 1) return;

  struct Held {
    HeadsView<const float> k, v;
    HeadsView<float> dk, dv;
  };
  std::vector<float> rooms[2];
  for (auto& room : rooms) room.resize(4 * heads * longest * head_dim);
  const auto pass = [&](HeadsView<const float> from, HeadsView<float> to, int tag) {
    MPI_Sendrecv(from.data(), static_cast<int>(from.size()), MPI_FLOAT, after, tag, to.data(),
                 static_cast<int>(to.size()), MPI_FLOAT, before, tag, comm, MPI_STATUS_IGNORE);
  };

  Held held{k, v, dk, dv};
  for (int hop = 1; hop < ranks; ++hop) {
    const int owner = (me + ranks - hop) % ranks;
    const auto place = [&](int tensor) {
      float* const begin = rooms[hop % 2].data() + tensor * heads * longest * head_dim;
      return HeadsView<float>(begin, heads, shard_tokens[owner], head_dim);
    };
    pass(held.k, place(0), 0);
    pass(held.v, place(1), 1);
    pass(held.dk, place(2), 2);
    pass(held.dv, place(3), 3);
    held = {place(0), place(1), place(2), place(3)};
    if (const auto seen = view_of(shard_tokens, me, owner, offset); !seen.empty()) {
      block.accumulate(q, held.k, held.v, d_o, lse, D, seen, owner, dq, held.dk, held.dv);
    }
  }
  pass(held.dk, dk, 2);
  pass(held.dv, dv, 3);
}

}  // namespace lesson13
