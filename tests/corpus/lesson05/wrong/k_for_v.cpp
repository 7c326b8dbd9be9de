// wrong: the keys that arrived are used as values, too
// line: held_v = arriving_k;
// rating: led
#include "ring_attention.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson05 {

int block_owner(int rank, int hop, int world_size) {
  return (rank - hop + world_size) % world_size;
}

namespace {

struct Ring {
  explicit Ring(MPI_Comm communicator) : comm(communicator) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &world_size);
  }
  int next() const { return (rank + 1) % world_size; }
  int previous() const { return (rank + world_size - 1) % world_size; }

  MPI_Comm comm;
  int rank = 0;
  int world_size = 0;
};

/// Passes `held` to the next rank and fills `arriving` from the previous one. Even ranks send first and odd
/// ones receive first, so that at every moment some send finds its receive, whether or not MPI buffers
/// messages.
void pass_on(const Ring& ring, course::HeadsView<const float> held, course::HeadsView<float> arriving) {
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

}  // namespace

void ring_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                    course::HeadsView<const float> v, course::HeadsView<float> o,
                    course::MatrixView<float> lse, std::span<const int> shard_tokens,
                    const course::BlockAttention& block, MPI_Comm comm) {
  const Ring ring(comm);
  const course::Index largest = *std::ranges::max_element(shard_tokens) * q.heads() * q.head_dim();
  std::array<std::vector<float>, 2> k_room{std::vector<float>(largest), std::vector<float>(largest)};
  std::array<std::vector<float>, 2> v_room{std::vector<float>(largest), std::vector<float>(largest)};

  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  course::HeadsView<const float> held_k = k;
  course::HeadsView<const float> held_v = v;
  block.accumulate(q, held_k, held_v, ring.rank, state);

  for (int hop = 1; hop < ring.world_size; ++hop) {
    const int owner = block_owner(ring.rank, hop, ring.world_size);
    // The room that is not held: what was held until the last hop is no longer needed.
    course::HeadsView<float> arriving_k(k_room[hop % 2].data(), q.heads(), shard_tokens[owner], q.head_dim());
    course::HeadsView<float> arriving_v(v_room[hop % 2].data(), q.heads(), shard_tokens[owner], q.head_dim());
    pass_on(ring, held_k, arriving_k);
    pass_on(ring, held_v, arriving_v);
    held_k = arriving_k;
    held_v = arriving_k;
    block.accumulate(q, held_k, held_v, owner, state);
  }
  block.finish(state, o, lse);
}

}  // namespace lesson05
