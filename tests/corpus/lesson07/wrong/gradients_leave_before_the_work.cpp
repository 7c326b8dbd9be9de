// wrong: the block of the first hop is not worked on, and K and V are taken over before dK and dV are passed on
// line: if (hop > 1) work_on(held, owner);
// rating: led
#include "ring_backward.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson07 {

using course::HeadsView;
using course::Index;
using course::MatrixView;

Traffic backward_traffic(std::span<const int> shard_tokens, Index heads, Index head_dim, int rank) {
  if (shard_tokens.size() == 1) return {};
  const Index next = shard_tokens[(rank + 1) % shard_tokens.size()];
  const Index all = std::accumulate(shard_tokens.begin(), shard_tokens.end(), Index{0});
  const Index token_bytes = 2 * heads * head_dim * static_cast<Index>(sizeof(float));
  return {(all - next) * token_bytes, all * token_bytes};
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

/// A block of keys and values and the gradients that travel with it.
struct Block {
  HeadsView<const float> k, v;
  HeadsView<float> dk, dv;
};

/// delta_i = o_i . d_o_i. Row i of o is final, so this needs nobody else.
std::vector<float> row_delta(HeadsView<const float> o, HeadsView<const float> d_o) {
  std::vector<float> delta(o.heads() * o.seq());
  for (Index row = 0; row < std::ssize(delta); ++row) {
    const float* first = o.data() + row * o.head_dim();
    delta[row] = std::inner_product(first, first + o.head_dim(), d_o.data() + row * o.head_dim(), 0.0f);
  }
  return delta;
}

}  // namespace

void ring_attention_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                             HeadsView<const float> o, MatrixView<const float> lse,
                             HeadsView<const float> d_o, HeadsView<float> dq, HeadsView<float> dk,
                             HeadsView<float> dv, std::span<const int> shard_tokens,
                             const course::BlockAttentionBackward& block, MPI_Comm comm) {
  const Ring ring(comm);
  const std::vector<float> delta = row_delta(o, d_o);
  const auto work_on = [&](const Block& held, int owner) {
    block.accumulate(q, held.k, held.v, d_o, lse, {delta.data(), q.heads(), q.seq()}, owner, dq, held.dk,
                     held.dv);
  };
  const Index largest = *std::ranges::max_element(shard_tokens);
  Rooms k_rooms(q.heads(), largest, q.head_dim());
  Rooms v_rooms = k_rooms;
  Rooms dk_rooms = k_rooms;
  Rooms dv_rooms = k_rooms;

  for (const HeadsView<float>& gradient : {dq, dk, dv}) std::fill_n(gradient.data(), gradient.size(), 0.0f);
  Block held{k, v, dk, dv};
  work_on(held, ring.rank);
  for (int hop = 1; hop < ring.world_size; ++hop) {
    const int owner = ring.owner_after(hop);
    const Index tokens = shard_tokens[owner];
    const HeadsView<float> arriving_k = k_rooms.after(hop, tokens);
    const HeadsView<float> arriving_v = v_rooms.after(hop, tokens);
    const Block arriving{arriving_k, arriving_v, dk_rooms.after(hop, tokens), dv_rooms.after(hop, tokens)};
    pass_on(ring, held.k, arriving_k);
    pass_on(ring, held.v, arriving_v);
    held.k = arriving_k;
    held.v = arriving_v;
    pass_on(ring, held.dk, arriving.dk);
    pass_on(ring, held.dv, arriving.dv);
    held = arriving;
    if (hop > 1) work_on(held, owner);
  }
  // Keys and values are done; the gradients, now whole, belong to the next rank.
  if (ring.world_size > 1) {
    pass_on(ring, held.dk, dk);
    pass_on(ring, held.dv, dv);
  }
}

}  // namespace lesson07
