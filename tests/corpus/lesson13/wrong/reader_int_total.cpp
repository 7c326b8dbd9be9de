// wrong: the scores are added up from an int 0, so the sum is an int and does not hold more than 2^31 - 1 scores
// line: return std::accumulate(seen.begin(), seen.end(), 0, [](Index sum, KeyRange r) { return sum + r.last - r.first; });
// rating: led
#include "causal_ring.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

using RowMatrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstMap = Eigen::Map<const RowMatrix>;
using Map = Eigen::Map<RowMatrix>;

static ConstMap eigen(MatrixView<const float> a) { return {a.data(), a.rows(), a.cols()}; }
static Map eigen(MatrixView<float> a) { return {a.data(), a.rows(), a.cols()}; }

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  Index position = first_query;
  for (auto& [first, last] : seen) {
    first = 0;
    last = std::clamp(position + offset - first_key + 1, Index{0}, keys);
    ++position;
  }
}

/// What rank's queries see of owner's block.
static std::vector<KeyRange> ranges_of(int rank, int owner, std::span<const int> shard_tokens, Index offset) {
  std::vector<Index> starts(shard_tokens.size());
  std::exclusive_scan(shard_tokens.begin(), shard_tokens.end(), starts.begin(), Index{0});
  std::vector<KeyRange> seen(static_cast<std::size_t>(shard_tokens[rank]));
  key_ranges(starts[rank], starts[owner], shard_tokens[owner], offset, seen);
  return seen;
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int p = static_cast<int>(shard_tokens.size());
  const std::vector<KeyRange> seen = ranges_of(rank, ((rank - step) % p + p) % p, shard_tokens, offset);
  return std::accumulate(seen.begin(), seen.end(), 0, [](Index sum, KeyRange r) { return sum + r.last - r.first; });
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const float scale = 1.0f / std::sqrt(float(q.head_dim()));
  for (Index h = 0; h < q.heads(); ++h) {
    const ConstMap Q = eigen(q.head(h)), K = eigen(k.head(h)), V = eigen(v.head(h));
    Map O = eigen(state.o().head(h));
    for (Index i = 0; i < q.seq(); ++i) {
      const Index first = seen[i].first, count = seen[i].last - first;
      if (count == 0) continue;
      Eigen::RowVectorXf s = scale * Q.row(i) * K.middleRows(first, count).transpose();
      float& m = state.m()(h, i);
      float& l = state.l()(h, i);
      const float m_new = std::max(m, s.maxCoeff());
      const float shrink = std::exp(m - m_new);
      for (Index j = 0; j < count; ++j) s(j) = std::exp(s(j) - m_new);
      l = l * shrink + s.sum();
      O.row(i) = shrink * O.row(i) + s * V.middleRows(first, count);
      m = m_new;
    }
  }
}

static bool sees_any(const std::vector<KeyRange>& seen) {
  return std::any_of(seen.begin(), seen.end(), [](KeyRange r) { return r.first != r.last; });
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  int r = 0, p = 1;
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &p);
  const Index heads = k.heads(), d = k.head_dim();
  const Index most = heads * d * *std::max_element(shard_tokens.begin(), shard_tokens.end());

  // one message for both: K, then V behind it
  std::vector<float> held(2 * most), arriving(2 * most);
  std::copy_n(k.data(), k.size(), held.data());
  std::copy_n(v.data(), v.size(), held.data() + k.size());

  course::AttentionState state(heads, q.seq(), d);
  for (int s = 0; s < p; ++s) {
    const int owner = (r - s + p) % p;
    const Index n = shard_tokens[owner];
    if (s > 0) {
      const Index sent = shard_tokens[(owner + 1) % p];
      MPI_Sendrecv(held.data(), static_cast<int>(2 * heads * sent * d), MPI_FLOAT, (r + 1) % p, 7, arriving.data(),
                   static_cast<int>(2 * heads * n * d), MPI_FLOAT, (r - 1 + p) % p, 7, comm, MPI_STATUS_IGNORE);
      held.swap(arriving);
    }
    const std::vector<KeyRange> seen = ranges_of(r, owner, shard_tokens, offset);
    if (!sees_any(seen)) continue;
    const HeadsView<const float> kb(held.data(), heads, n, d);
    const HeadsView<const float> vb(held.data() + kb.size(), heads, n, d);
    block.accumulate(q, kb, vb, seen, owner, state);
  }
  block.finish(state, o, lse);
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  int r = 0, p = 1;
  MPI_Comm_rank(comm, &r);
  MPI_Comm_size(comm, &p);
  const Index heads = k.heads(), d = k.head_dim();
  const Index most = heads * d * *std::max_element(shard_tokens.begin(), shard_tokens.end());

  RowMatrix D(heads, q.seq());
  for (Index h = 0; h < heads; ++h) {
    D.row(h) = eigen(o.head(h)).cwiseProduct(eigen(d_o.head(h))).rowwise().sum().transpose();
  }
  const MatrixView<const float> delta(D.data(), heads, q.seq());
  std::fill_n(dq.data(), dq.size(), 0.0f);

  // K | V | dK | dV of the block that is held
  std::vector<float> held(4 * most), arriving(4 * most);
  std::copy_n(k.data(), k.size(), held.data());
  std::copy_n(v.data(), v.size(), held.data() + k.size());
  std::fill_n(held.data() + 2 * k.size(), 2 * k.size(), 0.0f);

  const auto pass_on = [&](int tensors, Index skip, Index sent, Index received) {
    const Index out = heads * sent * d, in = heads * received * d;
    MPI_Sendrecv(held.data() + skip * out, static_cast<int>(tensors * out), MPI_FLOAT, (r + 1) % p, 8,
                 arriving.data() + skip * in, static_cast<int>(tensors * in), MPI_FLOAT, (r - 1 + p) % p, 8, comm,
                 MPI_STATUS_IGNORE);
    held.swap(arriving);
  };
  for (int s = 0; s < p; ++s) {
    const int owner = (r - s + p) % p;
    const Index n = shard_tokens[owner], size = heads * n * d;
    if (s > 0) pass_on(4, 0, shard_tokens[(owner + 1) % p], n);
    const std::vector<KeyRange> seen = ranges_of(r, owner, shard_tokens, offset);
    if (!sees_any(seen)) continue;
    float* at = held.data();
    block.accumulate(q, {at, heads, n, d}, {at + size, heads, n, d}, d_o, lse, delta, seen, owner, dq,
                     {at + 2 * size, heads, n, d}, {at + 3 * size, heads, n, d});
  }
  if (p > 1) pass_on(2, 2, shard_tokens[(r + 1) % p], shard_tokens[r]);
  std::copy_n(held.data() + 2 * dk.size(), dk.size(), dk.data());
  std::copy_n(held.data() + 3 * dv.size(), dv.size(), dv.data());
}

}  // namespace lesson13
