#include "striped_and_zigzag.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "lesson/not_implemented.hpp"

namespace lesson14 {

using course::HeadsView;
using course::Index;
using course::KeyRange;
using course::MatrixView;

Positions striped_positions(Index tokens, int world_size, int rank) {
  //> task 1
  //| // Which position does the rank own first, and how far is it to the next?
  //| throw course::NotImplemented("task 1, striped_positions");
  Positions positions;
  for (Index position = rank; position < tokens; position += world_size) positions.push_back(position);
  return positions;
  //< task 1
}

Positions zigzag_positions(Index tokens, int world_size, int rank) {
  //> task 1
  //| // Where does chunk c begin, when the first few chunks hold one token more? Which two are the rank's?
  //| throw course::NotImplemented("task 1, zigzag_positions");
  const int chunks = 2 * world_size;
  const auto start = [&](int chunk) {
    return chunk * (tokens / chunks) + std::min<Index>(chunk, tokens % chunks);
  };
  Positions positions;
  for (const int chunk : {rank, chunks - 1 - rank}) {
    for (Index position = start(chunk); position < start(chunk + 1); ++position)
      positions.push_back(position);
  }
  return positions;
  //< task 1
}

void shard_rows(HeadsView<const float> whole, std::span<const Index> positions, HeadsView<float> shard) {
  //> task 2
  //| // Row i of the shard is which row of the whole?
  //| throw course::NotImplemented("task 2, shard_rows");
  for (Index head = 0; head < whole.heads(); ++head) {
    for (Index row = 0; row < shard.seq(); ++row)
      std::ranges::copy(whole.head(head).row(positions[row]), shard.head(head).row(row).begin());
  }
  //< task 2
}

void unshard_rows(HeadsView<const float> gathered, std::span<const Positions> positions,
                  HeadsView<float> whole) {
  //> task 2
  //| // Go through what was gathered, row by row. Where does each row belong?
  //| throw course::NotImplemented("task 2, unshard_rows");
  Positions order;
  for (const Positions& of_rank : positions) order.insert(order.end(), of_rank.begin(), of_rank.end());
  for (Index head = 0; head < whole.heads(); ++head) {
    for (Index row = 0; row < whole.seq(); ++row)
      std::ranges::copy(gathered.head(head).row(row), whole.head(head).row(order[row]).begin());
  }
  //< task 2
}

Batch shard_batch(std::span<const int> sequence, std::span<const Index> positions) {
  //> task 3
  //| // Which token follows the one at a position, and is it in this shard?
  //| throw course::NotImplemented("task 3, shard_batch");
  const Index last = std::ssize(sequence) - 1;
  Batch batch;
  for (const Index position : positions) {
    batch.tokens.push_back(sequence[position]);
    batch.labels.push_back(position < last ? sequence[position + 1] : ignored_label);
    batch.position_ids.push_back(position);
  }
  return batch;
  //< task 3
}

std::vector<KeyRange> key_ranges(std::span<const Index> query_positions,
                                 std::span<const Index> key_positions) {
  //> task 4
  //| // Both lists ascend. How many of the keys stand at the query's position or before it?
  //| throw course::NotImplemented("task 4, key_ranges");
  std::vector<KeyRange> ranges;
  for (const Index position : query_positions)
    ranges.push_back({0, std::ranges::upper_bound(key_positions, position) - key_positions.begin()});
  return ranges;
  //< task 4
}

Index causal_work(std::span<const Positions> positions, int rank, int step) {
  //> task 4
  //| // Whose block is with the rank at this step? How many of its keys does each query see?
  //| throw course::NotImplemented("task 4, causal_work");
  const int world_size = static_cast<int>(positions.size());
  const int owner = (rank - step + world_size) % world_size;
  Index scores = 0;
  for (const auto [first, last] : key_ranges(positions[rank], positions[owner])) scores += last - first;
  return scores;
  //< task 4
}

//> task 5
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

/// Passes `held` to the next rank and fills `arriving` from the previous one.
void pass_on(const Ring& ring, HeadsView<const float> held, HeadsView<float> arriving) {
  MPI_Sendrecv(held.data(), static_cast<int>(held.size()), MPI_FLOAT, ring.next(), 0, arriving.data(),
               static_cast<int>(arriving.size()), MPI_FLOAT, ring.previous(), 0, ring.comm,
               MPI_STATUS_IGNORE);
}

/// Room for what is held and for what arrives, in turn.
class Rooms {
 public:
  Rooms(Index heads, std::span<const Positions> positions, Index head_dim)
      : heads_(heads), head_dim_(head_dim) {
    std::size_t largest = 0;
    for (const Positions& of_rank : positions) largest = std::max(largest, of_rank.size());
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

bool any_seen(std::span<const KeyRange> ranges) {
  return std::ranges::any_of(ranges, [](const KeyRange& keys) { return keys.first < keys.last; });
}

}  // namespace

//< task 5
void causal_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           const course::MaskedBlockAttention& block, MPI_Comm comm) {
  //> task 5
  //| // Take your ring of lesson 13. What does it know of a block but its length, and who tells it now?
  //| throw course::NotImplemented("task 5, causal_ring_attention");
  const Ring ring(comm);
  Rooms k_rooms(q.heads(), positions, q.head_dim());
  Rooms v_rooms = k_rooms;
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  HeadsView<const float> held_k = k;
  HeadsView<const float> held_v = v;
  for (int hop = 0; hop < ring.world_size; ++hop) {
    const int owner = ring.owner_after(hop);
    if (hop > 0) {
      const HeadsView<float> arriving_k = k_rooms.after(hop, std::ssize(positions[owner]));
      const HeadsView<float> arriving_v = v_rooms.after(hop, std::ssize(positions[owner]));
      pass_on(ring, held_k, arriving_k);
      pass_on(ring, held_v, arriving_v);
      held_k = arriving_k;
      held_v = arriving_v;
    }
    const std::vector<KeyRange> seen = key_ranges(positions[ring.rank], positions[owner]);
    if (any_seen(seen)) block.accumulate(q, held_k, held_v, seen, owner, state);
  }
  block.finish(state, o, lse);
  //< task 5
}

void causal_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                          HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                          HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                          std::span<const Positions> positions,
                          const course::MaskedBlockAttentionBackward& block, MPI_Comm comm) {
  //> task 6
  //| // Take your ring of lesson 13. Which blocks may be left out of the work, and which of the travels?
  //| throw course::NotImplemented("task 6, causal_ring_backward");
  const Ring ring(comm);
  std::vector<float> delta(o.heads() * o.seq());
  for (Index row = 0; row < std::ssize(delta); ++row) {
    const float* first = o.data() + row * o.head_dim();
    delta[row] = std::inner_product(first, first + o.head_dim(), d_o.data() + row * o.head_dim(), 0.0f);
  }
  Rooms k_rooms(q.heads(), positions, q.head_dim());
  Rooms v_rooms = k_rooms, dk_rooms = k_rooms, dv_rooms = k_rooms;
  for (const HeadsView<float>& gradient : {dq, dk, dv}) std::fill_n(gradient.data(), gradient.size(), 0.0f);

  // The outputs are the room of the first block's gradients: they set out from there and come back to it.
  HeadsView<const float> held_k = k, held_v = v;
  HeadsView<float> held_dk = dk, held_dv = dv;
  for (int hop = 0; hop < ring.world_size; ++hop) {
    const int owner = ring.owner_after(hop);
    const Index tokens = std::ssize(positions[owner]);
    if (hop > 0) {
      const HeadsView<float> arriving_k = k_rooms.after(hop, tokens), arriving_v = v_rooms.after(hop, tokens);
      const HeadsView<float> arriving_dk = dk_rooms.after(hop, tokens),
                             arriving_dv = dv_rooms.after(hop, tokens);
      pass_on(ring, held_k, arriving_k);
      pass_on(ring, held_v, arriving_v);
      pass_on(ring, held_dk, arriving_dk);
      pass_on(ring, held_dv, arriving_dv);
      held_k = arriving_k;
      held_v = arriving_v;
      held_dk = arriving_dk;
      held_dv = arriving_dv;
    }
    const std::vector<KeyRange> seen = key_ranges(positions[ring.rank], positions[owner]);
    if (any_seen(seen)) {
      block.accumulate(q, held_k, held_v, d_o, lse, {delta.data(), q.heads(), q.seq()}, seen, owner, dq,
                       held_dk, held_dv);
    }
  }
  if (ring.world_size > 1) {
    pass_on(ring, held_dk, dk);
    pass_on(ring, held_dv, dv);
  }
  //< task 6
}

}  // namespace lesson14
