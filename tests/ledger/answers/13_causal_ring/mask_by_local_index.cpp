#include "causal_ring.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson13 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

void key_ranges(Index first_query, Index first_key, Index keys, Index offset, std::span<KeyRange> seen) {
  for (Index i = 0; i < std::ssize(seen); ++i) {
    const Index position = first_query + i;
    const Index beyond = position + offset + 1;
    seen[i] = {0, std::clamp<Index>(beyond - first_key, 0, keys)};
  }
}

namespace {

Index first_position(std::span<const int> shard_tokens, int rank) {
  return std::accumulate(shard_tokens.begin(), shard_tokens.begin() + rank, Index{0});
}

/// What rank `rank`'s queries see of the block of rank `owner`.
std::vector<KeyRange> ranges_of(std::span<const int> shard_tokens, int rank, int owner, Index offset) {
  std::vector<KeyRange> seen(shard_tokens[rank]);
  key_ranges(0, 0, shard_tokens[owner],
             offset, seen);
  return seen;
}

Index scores_in(std::span<const KeyRange> seen) {
  Index scores = 0;
  for (const auto [first, last] : seen) scores += last - first;
  return scores;
}

}  // namespace

Index work(int rank, int step, std::span<const int> shard_tokens, Index offset) {
  const int world_size = static_cast<int>(shard_tokens.size());
  const int owner = (rank - step + world_size) % world_size;
  return scores_in(ranges_of(shard_tokens, rank, owner, offset));
}

void attend_seen(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                 std::span<const KeyRange> seen, course::AttentionState& state) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  std::vector<float> scores(k.seq());
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      const auto [first, last] = seen[i];
      if (first == last) continue;  // with m = -inf, m - m' would be no number
      const std::span<const float> query = q.head(head).row(i);
      float& m = state.m()(head, i);
      float& l = state.l()(head, i);
      const std::span<float> o = state.o().head(head).row(i);
      float grown = m;
      for (Index j = first; j < last; ++j) {
        scores[j] = scale * std::inner_product(query.begin(), query.end(), k.head(head).row(j).begin(), 0.0f);
        grown = std::max(grown, scores[j]);
      }
      const float keep = std::exp(m - grown);
      l *= keep;
      for (float& entry : o) entry *= keep;
      for (Index j = first; j < last; ++j) {
        const float weight = std::exp(scores[j] - grown);
        const std::span<const float> value = v.head(head).row(j);
        l += weight;
        for (std::size_t c = 0; c < o.size(); ++c) o[c] += weight * value[c];
      }
      m = grown;
    }
  }
}

namespace {

struct Ring {
  explicit Ring(MPI_Comm communicator) : comm(communicator) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &world_size);
  }
  int next() const { return (rank + 1) % world_size; }
  int previous() const { return (rank + world_size - 1) % world_size; }
  int owner_after(int hop) const { return (rank - hop + world_size) % world_size; }

  MPI_Comm comm;
  int rank = 0;
  int world_size = 0;
};

/// Passes `held` to the next rank and fills `arriving` from the previous one. Even ranks send first and odd
/// ones receive first, so that at every moment some send finds its receive, whether or not MPI buffers
/// messages.
void pass_on(const Ring& ring, HeadsView<const float> held, HeadsView<float> arriving) {
  const auto send = [&] {
    MPI_Send(held.data(), static_cast<int>(held.size()), MPI_FLOAT, ring.next(), 0, ring.comm);
  };
  const auto receive = [&] {
    MPI_Recv(arriving.data(), static_cast<int>(arriving.size()), MPI_FLOAT, ring.previous(), 0, ring.comm,
             MPI_STATUS_IGNORE);
  };
  if (ring.rank % 2 == 0) {
    send();
    receive();
  } else {
    receive();
    send();
  }
}

/// Room for what is held and for what arrives, in turn.
class Rooms {
 public:
  Rooms(Index heads, Index largest, Index head_dim) : heads_(heads), head_dim_(head_dim) {
    for (std::vector<float>& room : rooms_) room.resize(heads * largest * head_dim);
  }
  HeadsView<float> after(int hop, Index tokens) {
    return {rooms_[hop % 2].data(), heads_, tokens, head_dim_};
  }

 private:
  Index heads_;
  Index head_dim_;
  std::array<std::vector<float>, 2> rooms_;
};

}  // namespace

void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const int> shard_tokens,
                           Index offset, const course::MaskedBlockAttention& block, MPI_Comm comm) {
  const Ring ring(comm);
  const Index largest = *std::ranges::max_element(shard_tokens);
  Rooms k_rooms(q.heads(), largest, q.head_dim());
  Rooms v_rooms = k_rooms;
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  HeadsView<const float> held_k = k;
  HeadsView<const float> held_v = v;
  const auto work_on_held = [&](int owner) {
    const std::vector<KeyRange> seen = ranges_of(shard_tokens, ring.rank, owner, offset);
    if (scores_in(seen) > 0) block.accumulate(q, held_k, held_v, seen, owner, state);
  };

  work_on_held(ring.rank);
  for (int hop = 1; hop < ring.world_size; ++hop) {
    const int owner = ring.owner_after(hop);
    const HeadsView<float> arriving_k = k_rooms.after(hop, shard_tokens[owner]);
    const HeadsView<float> arriving_v = v_rooms.after(hop, shard_tokens[owner]);
    pass_on(ring, held_k, arriving_k);
    pass_on(ring, held_v, arriving_v);
    held_k = arriving_k;
    held_v = arriving_v;
    work_on_held(owner);
  }
  block.finish(state, o, lse);
}

namespace {

/// A block of keys and values and the gradients that travel with it.
struct Block {
  HeadsView<const float> k, v;
  HeadsView<float> dk, dv;
};

/// delta_i = o_i . d_o_i.
std::vector<float> row_delta(HeadsView<const float> o, HeadsView<const float> d_o) {
  std::vector<float> delta(o.heads() * o.seq());
  for (Index row = 0; row < std::ssize(delta); ++row) {
    const float* first = o.data() + row * o.head_dim();
    delta[row] = std::inner_product(first, first + o.head_dim(), d_o.data() + row * o.head_dim(), 0.0f);
  }
  return delta;
}

}  // namespace

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const int> shard_tokens, Index offset,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  const Ring ring(comm);
  const Index largest = *std::ranges::max_element(shard_tokens);
  Rooms k_rooms(q.heads(), largest, q.head_dim());
  Rooms v_rooms = k_rooms;
  Rooms dk_rooms = k_rooms;
  Rooms dv_rooms = k_rooms;
  const std::vector<float> delta = row_delta(o, d_o);
  for (const HeadsView<float>& gradient : {dq, dk, dv}) std::fill_n(gradient.data(), gradient.size(), 0.0f);
  Block held{k, v, dk, dv};
  const auto work_on_held = [&](int owner) {
    const std::vector<KeyRange> seen = ranges_of(shard_tokens, ring.rank, owner, offset);
    if (scores_in(seen) == 0) return;
    block.accumulate(q, held.k, held.v, d_o, lse, {delta.data(), q.heads(), q.seq()}, seen, owner, dq,
                     held.dk, held.dv);
  };

  work_on_held(ring.rank);
  for (int hop = 1; hop < ring.world_size; ++hop) {
    const int owner = ring.owner_after(hop);
    const Index tokens = shard_tokens[owner];
    const HeadsView<float> arriving_k = k_rooms.after(hop, tokens);
    const HeadsView<float> arriving_v = v_rooms.after(hop, tokens);
    const Block arriving{arriving_k, arriving_v, dk_rooms.after(hop, tokens), dv_rooms.after(hop, tokens)};
    pass_on(ring, held.k, arriving_k);
    pass_on(ring, held.v, arriving_v);
    pass_on(ring, held.dk, arriving.dk);
    pass_on(ring, held.dv, arriving.dv);
    held = arriving;
    work_on_held(owner);
  }
  // The gradients, now whole, belong to the next rank.
  if (ring.world_size > 1) {
    pass_on(ring, held.dk, dk);
    pass_on(ring, held.dv, dv);
  }
}

}  // namespace lesson13
