// wrong: a block goes on only if the very next rank sees it, though a rank further along may need it
// line: const bool sends = sees(next, held);
// rating: not led
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

class Shards {
 public:
  Shards(std::span<const int> tokens, Index offset) : tokens_(tokens), offset_(offset), start_(tokens.size()) {
    std::exclusive_scan(tokens.begin(), tokens.end(), start_.begin(), Index{0});
  }

  std::vector<KeyRange> ranges(int rank, int owner) const {
    std::vector<KeyRange> seen(tokens_[rank]);
    key_ranges(start_[rank], start_[owner], tokens_[owner], offset_, seen);
    return seen;
  }

  /// Does any query of rank see a key of owner's block? The last query sees the most.
  bool sees(int rank, int owner) const {
    if (tokens_[rank] == 0 || tokens_[owner] == 0) return false;
    return start_[owner] <= start_[rank] + tokens_[rank] - 1 + offset_;
  }

  int longest() const { return *std::max_element(tokens_.begin(), tokens_.end()); }

 private:
  std::span<const int> tokens_;
  Index offset_;
  std::vector<Index> start_;
};

}  // namespace

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  Index beyond = first_query + offset + 1 - first_key;
  for (KeyRange& range : seen) range = {0, std::clamp(beyond++, Index{0}, keys)};
}

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int ranks = static_cast<int>(shard_tokens.size());
  Index total = 0;
  for (const auto& [first, last] : Shards(shard_tokens, offset).ranges(rank, (rank + ranks - step) % ranks)) {
    total += last - first;
  }
  return total;
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  std::vector<float> weights(k.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    const auto o = state.o().head(h);
    const auto m = state.m().row(h);
    const auto l = state.l().row(h);
    for (Index i = 0; i < q.seq(); ++i) {
      const Index first = seen[i].first;
      const Index count = seen[i].last - first;
      if (count == 0) continue;
      const std::span<float> p(weights.data(), count);
      const auto keys = k.head(h).rows(first, count);
      const auto values = v.head(h).rows(first, count);
      for (Index j = 0; j < count; ++j) p[j] = scale * course::dot(q.head(h).row(i), keys.row(j));
      const float raised = std::max(m[i], course::maximum(p));
      const float factor = std::exp(m[i] - raised);
      l[i] = l[i] * factor + course::exponentiate(p, raised);
      m[i] = raised;
      course::scal(factor, o.row(i));
      for (Index j = 0; j < count; ++j) course::axpy(p[j], values.row(j), o.row(i));
    }
  }
}

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  const Shards shards(shard_tokens, offset);
  const auto sees = [&](int who, int owner) { return shards.sees(who, owner); };
  const auto floats = [&](int owner) { return static_cast<int>(k.heads() * shard_tokens[owner] * k.head_dim()); };

  struct Room {
    std::vector<float> k, v;
  };
  const Index size = k.heads() * k.head_dim() * shards.longest();
  Room here{std::vector<float>(size), std::vector<float>(size)};
  Room there{std::vector<float>(size), std::vector<float>(size)};
  std::copy_n(k.data(), k.size(), here.k.data());
  std::copy_n(v.data(), v.size(), here.v.data());

  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  const auto compute = [&](int owner) {
    if (!sees(rank, owner)) return;
    const Index keys = shard_tokens[owner];
    block.accumulate(q, {here.k.data(), k.heads(), keys, k.head_dim()},
                     {here.v.data(), v.heads(), keys, v.head_dim()}, shards.ranges(rank, owner), owner, state);
  };

  compute(rank);
  for (int hop = 1; hop < ranks; ++hop) {
    const int held = (rank + ranks - hop + 1) % ranks;
    const int coming = (rank + ranks - hop) % ranks;
    // half of the bytes need not travel; both ends know which
    const bool sends = sees(next, held);
    const bool receives = sees(rank, coming);
    std::vector<MPI_Request> requests;
    if (receives) {
      MPI_Irecv(there.k.data(), floats(coming), MPI_FLOAT, previous, 0, comm, &requests.emplace_back());
      MPI_Irecv(there.v.data(), floats(coming), MPI_FLOAT, previous, 1, comm, &requests.emplace_back());
    }
    if (sends) {
      MPI_Isend(here.k.data(), floats(held), MPI_FLOAT, next, 0, comm, &requests.emplace_back());
      MPI_Isend(here.v.data(), floats(held), MPI_FLOAT, next, 1, comm, &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    if (receives) {
      std::swap(here, there);
      compute(coming);
    }
  }
  block.finish(state, o, lse);
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const int next = (rank + 1) % ranks;
  const int previous = (rank + ranks - 1) % ranks;
  const Shards shards(shard_tokens, offset);
  const auto floats = [&](int owner) { return static_cast<int>(k.heads() * shard_tokens[owner] * k.head_dim()); };

  std::vector<float> delta_numbers(q.heads() * q.seq());
  const MatrixView<float> delta(delta_numbers.data(), q.heads(), q.seq());
  for (Index h = 0; h < q.heads(); ++h) {
    for (Index i = 0; i < q.seq(); ++i) delta(h, i) = course::dot(o.head(h).row(i), d_o.head(h).row(i));
  }
  std::fill_n(dq.data(), dq.size(), 0.0f);

  // K, V, dK, dV
  using Room = std::array<std::vector<float>, 4>;
  const std::vector<float> empty(k.heads() * k.head_dim() * shards.longest());
  Room here{empty, empty, empty, empty};
  Room there = here;
  std::copy_n(k.data(), k.size(), here[0].data());
  std::copy_n(v.data(), v.size(), here[1].data());

  const auto travel = [&](int tensor, int held, int coming) {
    MPI_Sendrecv(here[tensor].data(), floats(held), MPI_FLOAT, next, tensor, there[tensor].data(), floats(coming),
                 MPI_FLOAT, previous, tensor, comm, MPI_STATUS_IGNORE);
    std::swap(here[tensor], there[tensor]);
  };
  for (int hop = 0; hop < ranks; ++hop) {
    const int held = (rank + ranks - hop) % ranks;
    const int coming = (held + ranks - 1) % ranks;
    if (shards.sees(rank, held)) {
      const Index keys = shard_tokens[held];
      const auto view = [&](int tensor) {
        return HeadsView<float>(here[tensor].data(), k.heads(), keys, k.head_dim());
      };
      block.accumulate(q, view(0), view(1), d_o, lse, delta, shards.ranges(rank, held), held, dq, view(2), view(3));
    }
    if (ranks == 1) break;
    for (int tensor = hop + 1 < ranks ? 0 : 2; tensor < 4; ++tensor) travel(tensor, held, coming);
  }
  std::copy_n(here[2].data(), dk.size(), dk.data());
  std::copy_n(here[3].data(), dv.size(), dv.data());
}

}  // namespace lesson13
