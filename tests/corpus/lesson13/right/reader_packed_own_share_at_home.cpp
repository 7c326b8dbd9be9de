// right: one packed message a hop, odd and even ranks in turn, and the own share of dk and dv stays at home, so that the gradients make P - 1 hops
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

/// One rank's view of the ring: neighbours, positions, lengths.
class RingSide {
 public:
  RingSide(MPI_Comm comm, std::span<const int> shard_tokens, Index per_token)
      : comm_(comm), tokens_(shard_tokens), per_token_(per_token), starts_(shard_tokens.size() + 1, 0) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &ranks_);
    std::inclusive_scan(tokens_.begin(), tokens_.end(), starts_.begin() + 1, std::plus<>{}, Index{0});
  }

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  int owner_after(int hops) const { return ((rank_ - hops) % ranks_ + ranks_) % ranks_; }
  Index numbers(int owner) const { return per_token_ * tokens_[owner]; }
  Index most_numbers() const { return per_token_ * *std::max_element(tokens_.begin(), tokens_.end()); }

  /// Fills in what this rank's queries see of the block. Is it anything?
  bool look(int owner, Index offset, std::span<KeyRange> seen) const {
    key_ranges(starts_[rank_], starts_[owner], tokens_[owner], offset, seen);
    return std::any_of(seen.begin(), seen.end(), [](const KeyRange& range) { return range.first < range.last; });
  }

  void exchange(const float* out, Index out_count, float* in, Index in_count) const {
    const int right = owner_after(-1), left = owner_after(1);
    const auto send = [&] { MPI_Send(out, static_cast<int>(out_count), MPI_FLOAT, right, 0, comm_); };
    const auto receive = [&] {
      MPI_Recv(in, static_cast<int>(in_count), MPI_FLOAT, left, 0, comm_, MPI_STATUS_IGNORE);
    };
    if (rank_ % 2 == 0) {
      send();
      receive();
    } else {
      receive();
      send();
    }
  }

 private:
  MPI_Comm comm_;
  std::span<const int> tokens_;
  Index per_token_;
  std::vector<Index> starts_;
  int rank_ = 0;
  int ranks_ = 1;
};

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  Index end = first_query + offset + 1 - first_key;
  for (KeyRange& range : seen) {
    range = {0, std::clamp(end, Index{0}, keys)};
    ++end;
  }
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int ranks = static_cast<int>(shard_tokens.size());
  const int owner = (rank - step + ranks) % ranks;
  const auto start = [&](int r) {
    return std::accumulate(shard_tokens.begin(), shard_tokens.begin() + r, Index{0});
  };
  std::vector<KeyRange> seen(shard_tokens[rank]);
  key_ranges(start(rank), start(owner), shard_tokens[owner], offset, seen);
  return std::accumulate(seen.begin(), seen.end(), Index{0},
                         [](Index sum, const KeyRange& range) { return sum + range.last - range.first; });
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  std::vector<float> memory(q.seq() * k.seq());
  const MatrixView<float> scores(memory.data(), q.seq(), k.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    course::gemm(scale, q.head(h), course::transposed(k.head(h)), 0.0f, scores);
    const auto m = state.m().row(h), l = state.l().row(h);
    for (Index i = 0; i < q.seq(); ++i) {
      const std::span<float> weights = scores.row(i).subspan(seen[i].first, seen[i].last - seen[i].first);
      if (weights.empty()) continue;
      const float raised = std::max(m[i], course::maximum(weights));
      const float factor = std::exp(m[i] - raised);
      m[i] = raised;
      l[i] = l[i] * factor + course::exponentiate(weights, raised);
      const auto o = state.o().head(h).row(i);
      course::scal(factor, o);
      for (std::size_t j = 0; j < weights.size(); ++j) {
        course::axpy(weights[j], v.head(h).row(seen[i].first + static_cast<Index>(j)), o);
      }
    }
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  const RingSide ring(comm, shard_tokens, k.heads() * k.head_dim());
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  std::vector<KeyRange> seen(q.seq());

  if (ring.look(ring.rank(), offset, seen)) block.accumulate(q, k, v, seen, ring.rank(), state);

  std::array<std::vector<float>, 2> rooms{std::vector<float>(2 * ring.most_numbers()),
                                          std::vector<float>(2 * ring.most_numbers())};
  std::copy_n(k.data(), k.size(), rooms[0].data());
  std::copy_n(v.data(), v.size(), rooms[0].data() + k.size());
  for (int hop = 1; hop < ring.ranks(); ++hop) {
    const int owner = ring.owner_after(hop);
    const Index size = ring.numbers(owner);
    const std::vector<float>& held = rooms[(hop - 1) % 2];
    std::vector<float>& arrived = rooms[hop % 2];
    ring.exchange(held.data(), 2 * ring.numbers(ring.owner_after(hop - 1)), arrived.data(), 2 * size);
    if (!ring.look(owner, offset, seen)) continue;
    block.accumulate(q, {arrived.data(), k.heads(), shard_tokens[owner], k.head_dim()},
                     {arrived.data() + size, k.heads(), shard_tokens[owner], k.head_dim()}, seen, owner, state);
  }
  block.finish(state, o, lse);
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  const RingSide ring(comm, shard_tokens, k.heads() * k.head_dim());
  std::vector<float> products(q.heads() * q.seq());
  const MatrixView<float> delta(products.data(), q.heads(), q.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) delta(h, i) = course::dot(o.head(h).row(i), d_o.head(h).row(i));
  }
  for (const HeadsView<float> gradient : {dq, dk, dv}) std::fill_n(gradient.data(), gradient.size(), 0.0f);

  // The share of the own queries waits in dk and dv until those of the other ranks come home.
  std::vector<KeyRange> seen(q.seq());
  if (ring.look(ring.rank(), offset, seen)) {
    block.accumulate(q, k, v, d_o, lse, delta, seen, ring.rank(), dq, dk, dv);
  }
  if (ring.ranks() == 1) return;

  // A room: K, V, dK, dV, one after the other.
  std::array<std::vector<float>, 2> rooms{std::vector<float>(4 * ring.most_numbers()),
                                          std::vector<float>(4 * ring.most_numbers())};
  std::copy_n(k.data(), k.size(), rooms[0].data());
  std::copy_n(v.data(), v.size(), rooms[0].data() + k.size());
  for (int hop = 1; hop < ring.ranks(); ++hop) {
    const int owner = ring.owner_after(hop);
    const Index size = ring.numbers(owner), held_size = ring.numbers(ring.owner_after(hop - 1));
    float* const arrived = rooms[hop % 2].data();
    const int tensors = hop == 1 ? 2 : 4;
    ring.exchange(rooms[(hop - 1) % 2].data(), tensors * held_size, arrived, tensors * size);
    if (hop == 1) std::fill_n(arrived + 2 * size, 2 * size, 0.0f);
    if (!ring.look(owner, offset, seen)) continue;
    const auto part = [&](int number) {
      return HeadsView<float>(arrived + number * size, k.heads(), shard_tokens[owner], k.head_dim());
    };
    block.accumulate(q, part(0), part(1), d_o, lse, delta, seen, owner, dq, part(2), part(3));
  }

  const Index held_size = ring.numbers(ring.owner_after(ring.ranks() - 1));
  const float* const held = rooms[(ring.ranks() - 1) % 2].data();
  float* const home = rooms[ring.ranks() % 2].data();
  ring.exchange(held + 2 * held_size, 2 * held_size, home, 2 * dk.size());
  for (Index x = 0; x < dk.size(); ++x) {
    dk.data()[x] += home[x];
    dv.data()[x] += home[dk.size() + x];
  }
}

}  // namespace lesson13
