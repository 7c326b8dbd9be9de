#include "player/adapter.hpp"

#include <mpi.h>

#include <algorithm>
#include <cmath>

namespace {

using course::HeadsView;
using course::Index;

// A toy lesson: every rank has its queries with their positions in the sequence, and all keys and values.

/// Causal attention of a rank's queries, each of which sees keys 0 .. last_key(its row).
template <class LastKey>
void attend(course::Call& call, LastKey last_key) {
  const HeadsView<const float> q = call.input("q").heads();
  const HeadsView<const float> k = call.input("k").heads();
  const HeadsView<const float> v = call.input("v").heads();
  const HeadsView<float> o = call.output("o", call.input("q").shape()).heads();
  const double scale = 1 / std::sqrt(static_cast<double>(q.head_dim()));
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      double sum = 0;
      std::vector<double> row(q.head_dim());
      for (Index j = 0; j <= last_key(i); ++j) {
        double score = 0;
        for (Index c = 0; c < q.head_dim(); ++c) score += scale * q(head, i, c) * k(head, j, c);
        sum += std::exp(score);
        for (Index c = 0; c < q.head_dim(); ++c) row[c] += std::exp(score) * v(head, j, c);
      }
      for (Index c = 0; c < q.head_dim(); ++c) o(head, i, c) = static_cast<float>(row[c] / sum);
    }
  }
}

void mask_by_position(course::Call& call) {
  const std::span<const float> positions = call.input("positions").flat();
  attend(call, [&](Index row) { return static_cast<Index>(positions[row]); });
}

void mask_by_local_index(course::Call& call) {
  attend(call, [](Index row) { return row; });
}

// Another one: ring attention in which blocks travel to rank - 1, right and wrong.

struct Ring {
  int direction = -1;   ///< blocks travel to rank + direction
  int owners_from = 1;  ///< after s hops a rank names rank + owners_from * s
  int fewer_blocks = 0;
  bool arrives = true;  ///< else a rank attends to its own block every time
};

template <Ring ring>
void go_round(course::Call& call) {
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  int rank, world_size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world_size);
  const auto ahead = [&](int hops) { return ((rank + hops) % world_size + world_size) % world_size; };
  const course::Tensor& q = call.input("q");
  const std::vector<int> tokens = call.integers("shard_tokens");
  const Index row = q.extent(0) * q.extent(2);
  const auto room = [&](std::vector<float> own) {
    own.resize(row * *std::ranges::max_element(tokens));
    return own;
  };
  std::vector<float> held[]{room(call.input("k").values()), room(call.input("v").values())};
  std::vector<float> next[]{room({}), room({})};
  course::AttentionState state(q.extent(0), q.extent(1), q.extent(2));
  const course::BlockAttention& block = call.blocks().forward();
  int owner = rank;
  for (int hop = 0; hop < world_size - ring.fewer_blocks; ++hop) {
    for (int x = 0; x < 2 && hop > 0; ++x) {
      const Index arriving = row * tokens[ahead(-ring.direction * hop)];
      MPI_Sendrecv(held[x].data(), static_cast<int>(row * tokens[owner]), MPI_FLOAT, ahead(ring.direction), 0,
                   next[x].data(), static_cast<int>(arriving), MPI_FLOAT, ahead(-ring.direction), 0, comm,
                   MPI_STATUS_IGNORE);
      std::swap(held[x], next[x]);
    }
    owner = ahead(-ring.direction * hop);
    const auto view = [&](const char* name, std::vector<float>& block_of) -> HeadsView<const float> {
      if (!ring.arrives) return call.input(name).heads();
      return {block_of.data(), q.extent(0), tokens[owner], q.extent(2)};
    };
    block.accumulate(q.heads(), view("k", held[0]), view("v", held[1]), ahead(ring.owners_from * hop), state);
  }
  block.finish(state, call.output("o", q.shape()).heads(),
               call.output("lse", {q.extent(0), q.extent(1)}).matrix());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"mask_by_position", mask_by_position},
                                       {"mask_by_local_index", mask_by_local_index},
                                       {"ring_to_previous", go_round<Ring{}>},
                                       {"ring_to_next", go_round<Ring{.direction = 1, .owners_from = -1}>},
                                       {"owner_off", go_round<Ring{.owners_from = -1}>},
                                       {"one_block_short", go_round<Ring{.fewer_blocks = 1}>},
                                       {"own_block_every_time", go_round<Ring{.arrives = false}>}};
  return adapter;
}
