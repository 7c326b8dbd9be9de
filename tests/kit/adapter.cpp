#include "player/adapter.hpp"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <numeric>

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

/// x, of which this rank has its heads, of all tokens, is y.
void keep_heads(course::Call& call) {
  const course::Tensor& x = call.input("x");
  std::ranges::copy(x.values(), call.output("y", x.shape()).data());
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

/// A rank throws, for which the others wait.
void ranges_left_out(course::Call& call) {
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  int rank;
  MPI_Comm_rank(comm, &rank);
  const course::Tensor& q = call.input("q");
  course::AttentionState state(q.extent(0), q.extent(1), q.extent(2));
  const course::HeadsView<const float> k = call.input("k").heads(), v = call.input("v").heads();
  const std::vector<course::KeyRange> none;
  if (rank == 0)
    call.blocks().block_forward_of_mask().accumulate(
        {.q = q.heads(), .k = k, .v = v, .owner = rank, .scale = 1, .seen = none}, state);
  go_round<Ring{}>(call);
}

// Another one: tokens of all heads become all tokens of some heads, and sums go down the columns of a grid.

/// Heads first .. last - 1 are rank r's; the first heads mod P ranks have one more.
std::pair<Index, Index> heads_of(int rank, Index heads, int world_size) {
  const Index share = heads / world_size, longer = heads % world_size;
  const Index first = rank * share + std::min<Index>(rank, longer);
  return {first, first + share + (rank < longer ? 1 : 0)};
}

/// x [heads, tokens of this rank, d] becomes y [heads of this rank, all tokens, d], rank by rank in the order
/// of `tokens`; `counted_from` is where the first rank's tokens come.
void to_heads(course::Call& call, int counted_from) {
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  int rank, world_size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world_size);
  const HeadsView<const float> x = call.input("x").heads();
  const std::vector<int> tokens = call.integers("shard_tokens");
  const int all = std::accumulate(tokens.begin(), tokens.end(), 0);
  const auto [first, last] = heads_of(rank, x.heads(), world_size);
  const HeadsView<float> y = call.output("y", {last - first, all, x.head_dim()}).heads();
  for (int hop = 0; hop < world_size; ++hop) {
    const int to = (rank + hop) % world_size, from = (rank + world_size - hop) % world_size;
    const auto [to_first, to_last] = heads_of(to, x.heads(), world_size);
    std::vector<float> sent, arrived((last - first) * tokens[from] * x.head_dim());
    for (Index head = to_first; head < to_last; ++head)
      sent.insert(sent.end(), x.head(head).data(), x.head(head).data() + x.head(head).size());
    if (hop == 0) {
      arrived = sent;
    } else {
      MPI_Sendrecv(sent.data(), static_cast<int>(sent.size()), MPI_FLOAT, to, 0, arrived.data(),
                   static_cast<int>(arrived.size()), MPI_FLOAT, from, 0, comm, MPI_STATUS_IGNORE);
    }
    Index row = 0;
    for (int before = 0; before < from; ++before) row += tokens[before];
    const HeadsView<const float> part(arrived.data(), last - first, tokens[from], x.head_dim());
    for (Index head = 0; head < last - first; ++head) {
      for (Index i = 0; i < tokens[from]; ++i)
        std::ranges::copy(part.head(head).row(i), y.head(head).row((row + i + counted_from) % all).begin());
    }
  }
}

void tokens_to_heads(course::Call& call) {
  to_heads(call, 0);
}

void tokens_from_the_second(course::Call& call) {
  to_heads(call, 1);
}

/// What tokens_to_heads makes, of a whole x that every rank has been sent.
void pick_heads(course::Call& call, const std::vector<float>& blocks) {
  int rank, world_size;
  MPI_Comm_rank(call.communicator<MPI_Comm>(), &rank);
  MPI_Comm_size(call.communicator<MPI_Comm>(), &world_size);
  const HeadsView<const float> x = call.input("x").heads();
  const std::vector<int> tokens = call.integers("shard_tokens");
  const auto [first, last] = heads_of(rank, x.heads(), world_size);
  const int all = std::accumulate(tokens.begin(), tokens.end(), 0);
  const HeadsView<float> y = call.output("y", {last - first, all, x.head_dim()}).heads();
  const float* block = blocks.data();
  Index row = 0;
  for (const int count : tokens) {
    const HeadsView<const float> part(block, x.heads(), count, x.head_dim());
    for (Index head = first; head < last; ++head) {
      for (Index i = 0; i < count; ++i)
        std::ranges::copy(part.head(head).row(i), y.head(head - first).row(row + i).begin());
    }
    block += part.extent();
    row += count;
  }
}

/// How many numbers each rank's x has.
std::vector<int> block_sizes(course::Call& call) {
  const HeadsView<const float> x = call.input("x").heads();
  std::vector<int> sizes;
  for (const int count : call.integers("shard_tokens"))
    sizes.push_back(static_cast<int>(x.heads() * count * x.head_dim()));
  return sizes;
}

void everything_gathered(course::Call& call) {
  const std::vector<int> sizes = block_sizes(call);
  std::vector<int> first(sizes.size());
  std::exclusive_scan(sizes.begin(), sizes.end(), first.begin(), 0);
  std::vector<float> blocks(first.back() + sizes.back());
  MPI_Allgatherv(call.input("x").data(), static_cast<int>(call.input("x").size()), MPI_FLOAT, blocks.data(),
                 sizes.data(), first.data(), MPI_FLOAT, call.communicator<MPI_Comm>());
  pick_heads(call, blocks);
}

/// The same by messages.
void everything_sent_round(course::Call& call) {
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  int rank, world_size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world_size);
  const std::vector<int> sizes = block_sizes(call);
  std::vector<std::vector<float>> held(world_size);
  held[rank] = call.input("x").values();
  for (int hop = 1; hop < world_size; ++hop) {
    const int sent = (rank + world_size - hop + 1) % world_size;
    const int arriving = (rank + world_size - hop) % world_size;
    held[arriving].resize(sizes[arriving]);
    MPI_Sendrecv(held[sent].data(), sizes[sent], MPI_FLOAT, (rank + 1) % world_size, 0, held[arriving].data(),
                 sizes[arriving], MPI_FLOAT, (rank + world_size - 1) % world_size, 0, comm,
                 MPI_STATUS_IGNORE);
  }
  std::vector<float> blocks;
  for (const std::vector<float>& block : held) blocks.insert(blocks.end(), block.begin(), block.end());
  pick_heads(call, blocks);
}

/// What is needed, and one number more to the next rank.
void one_number_more(course::Call& call) {
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  int rank, world_size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world_size);
  const float number = 0;
  float arrived = 0;
  MPI_Sendrecv(&number, 1, MPI_FLOAT, (rank + 1) % world_size, 0, &arrived, 1, MPI_FLOAT,
               (rank + world_size - 1) % world_size, 0, comm, MPI_STATUS_IGNORE);
  to_heads(call, 0);
}

/// y, the sum of x over the ranks of a column; rank = row * columns + column. Blocks go to the next row, or,
/// `flat`, to the next rank.
void sum_down(course::Call& call, bool flat) {
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  int rank, world_size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &world_size);
  const int columns = static_cast<int>(call.integer("columns")), step = flat ? 1 : columns;
  course::Tensor held = call.input("x");
  course::Tensor& sum = call.output("y", held.shape());
  std::ranges::copy(held.values(), sum.data());
  for (int hop = 1; hop < world_size / step; ++hop) {
    MPI_Sendrecv_replace(held.data(), static_cast<int>(held.size()), MPI_FLOAT, (rank + step) % world_size, 0,
                         (rank + world_size - step) % world_size, 0, comm, MPI_STATUS_IGNORE);
    if (flat && hop % columns != 0) continue;
    for (Index i = 0; i < sum.size(); ++i) sum[i] += held[i];
  }
}

void sum_down_columns(course::Call& call) {
  sum_down(call, false);
}

void sum_round_all(course::Call& call) {
  sum_down(call, true);
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"transpose", KIT_TRANSPOSE},
                                       {"mask_by_position", mask_by_position},
                                       {"mask_by_local_index", mask_by_local_index},
                                       {"keep_heads", keep_heads},
                                       {"tokens_to_heads", tokens_to_heads},
                                       {"tokens_from_the_second", tokens_from_the_second},
                                       {"everything_gathered", everything_gathered},
                                       {"everything_sent_round", everything_sent_round},
                                       {"one_number_more", one_number_more},
                                       {"sum_down_columns", sum_down_columns},
                                       {"sum_round_all", sum_round_all},
                                       {"ring_to_previous", go_round<Ring{}>},
                                       {"ring_to_next", go_round<Ring{.direction = 1, .owners_from = -1}>},
                                       {"owner_off", go_round<Ring{.owners_from = -1}>},
                                       {"one_block_short", go_round<Ring{.fewer_blocks = 1}>},
                                       {"ranges_left_out", ranges_left_out},
                                       {"own_block_every_time", go_round<Ring{.arrives = false}>}};
  return adapter;
}
