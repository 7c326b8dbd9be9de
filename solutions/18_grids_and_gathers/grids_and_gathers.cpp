#include "grids_and_gathers.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson18 {

Place grid_place(int rank, int ulysses) {
  //> task 1
  //| // Which of the two numbers changes from one rank to the next?
  //| throw course::NotImplemented("task 1, grid_place");
  return {rank % ulysses, rank / ulysses};
  //< task 1
}

int world_rank(int t, int u, int r, int replica, int T, int U, int R) {
  //> task 1
  //| // What is innermost has stride 1.
  //| throw course::NotImplemented("task 1, world_rank");
  return t + T * (u + U * (r + R * replica));
  //< task 1
}

Positions grid_positions(Index tokens, int ulysses, int rings, bool zigzag, int rank) {
  //> task 1
  //| // First the block of the whole group, then this rank's slice of it.
  //| throw course::NotImplemented("task 1, grid_positions");
  const auto [u, r] = grid_place(rank, ulysses);
  const std::vector<int> chunks = course::even_shards(static_cast<int>(tokens), zigzag ? 2 * rings : rings);
  Positions block;
  Index position = 0;
  for (int chunk = 0; chunk < static_cast<int>(chunks.size()); ++chunk) {
    const bool own = chunk == r || (zigzag && chunk == 2 * rings - 1 - r);
    for (int i = 0; i < chunks[chunk]; ++i, ++position)
      if (own) block.push_back(position);
  }
  const std::vector<int> slices = course::even_shards(static_cast<int>(block.size()), ulysses);
  const auto first = block.begin() + course::shard_offsets(slices)[u];
  return {first, first + slices[u]};
  //< task 1
}

//> task 2
namespace {

/// Throws std::invalid_argument with both numbers.
void require_divides(Index part, Index whole, const char* what) {
  if (part >= 1 && whole % part == 0) return;
  throw std::invalid_argument(std::to_string(part) + " does not divide " + std::to_string(whole) + " " +
                              what);
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int ranks_of(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  return ranks;
}

/// A communicator of the ranks of one colour, ordered by key, which is freed in the end.
class Split {
 public:
  Split(MPI_Comm comm, int colour, int key) { MPI_Comm_split(comm, colour, key, &comm_); }
  ~Split() { MPI_Comm_free(&comm_); }
  Split(const Split&) = delete;
  Split& operator=(const Split&) = delete;

  operator MPI_Comm() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// A tensor without gaps that owns its numbers.
struct Room {
  Room(Index heads, Index tokens, Index width)
      : numbers(heads * tokens * width, 0.0f), view(numbers.data(), heads, tokens, width) {}
  Room(const Room&) = delete;
  Room& operator=(const Room&) = delete;

  std::vector<float> numbers;
  HeadsView<float> view;
};

/// `count` heads of a tensor without gaps, from `first` on.
template <class T>
HeadsView<T> some(HeadsView<T> x, Index first, Index count) {
  return {x.data() + first * x.seq() * x.head_dim(), count, x.seq(), x.head_dim()};
}

template <class T>
MatrixView<T> some(MatrixView<T> x, Index first, Index count) {
  return {x.data() + first * x.cols(), count, x.cols()};
}

/// A tensor of one number a token as a matrix, and the other way round.
template <class T>
MatrixView<T> as_matrix(HeadsView<T> x) {
  return {x.data(), x.heads(), x.seq()};
}

template <class T>
HeadsView<T> as_heads(MatrixView<T> x) {
  return {x.data(), x.rows(), x.cols(), 1};
}

/// The communicators of a rank, and what its group has.
struct Grid {
  Grid(Index heads, Index kv_heads, std::span<const Positions> all, int ulysses,
       const course::GridParts& parts, MPI_Comm comm)
      : place(place_in(comm, ulysses)),
        group(comm, place.r, place.u),
        ring(comm, place.u, place.r),
        positions(all.subspan(ulysses * place.r, ulysses)),
        of_head(heads / kv_heads) {
    for (int u = 0; u < ulysses; ++u) {
      const course::HeadShare share = parts.share(heads, kv_heads, ulysses, u);
      queries.push_back({share.first, share.last});
      keys.push_back({share.kv_first, share.kv_last});
      if (u == place.u) own = share;
    }
    for (std::size_t first = 0; first < all.size(); first += ulysses) {
      Positions block;
      for (const Positions& slice : all.subspan(first, ulysses))
        block.insert(block.end(), slice.begin(), slice.end());
      std::ranges::sort(block);
      blocks.push_back(std::move(block));
    }
  }

  static Place place_in(MPI_Comm comm, int ulysses) {
    require_divides(ulysses, ranks_of(comm), "ranks");
    return grid_place(rank_in(comm), ulysses);
  }

  Index heads() const { return own.last - own.first; }
  Index kv_heads() const { return own.kv_last - own.kv_first; }
  Index tokens() const { return std::ssize(blocks[place.r]); }

  /// Calls with(first, heads, kv) for the query heads of each key head, counted from the first of the share.
  template <class With>
  void by_key_head(With with) const {
    for (Index kv = 0; kv < kv_heads(); ++kv) {
      const Index all = (own.kv_first + kv) * of_head;
      const Index first = std::max(all, own.first), last = std::min(all + of_head, own.last);
      with(first - own.first, last - first, kv);
    }
  }

  Place place;
  Split group, ring;
  std::span<const Positions> positions;  ///< of the group's ranks
  std::vector<Positions> blocks;         ///< of the ring's ranks, each with its group's tokens
  course::HeadShare own{};
  std::vector<course::KeyRange> queries, keys;  ///< of the group's ranks
  Index of_head;                                ///< query heads that share a key head
};

}  // namespace

//< task 2
void usp_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                   HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                   int ulysses, bool causal, const course::GridParts& parts, MPI_Comm comm) {
  //> task 2
  //| // Who is in this rank's group, and who in its ring? Which tokens has a group, in which order?
  //| throw course::NotImplemented("task 2, usp_attention");
  const Grid grid(q.heads(), k.heads(), positions, ulysses, parts, comm);
  const Index n = grid.tokens(), d = q.head_dim();
  const Room all_q(grid.heads(), n, d), all_k(grid.kv_heads(), n, d), all_v(grid.kv_heads(), n, d),
      all_o(grid.heads(), n, d), all_lse(grid.heads(), n, 1);
  parts.tokens_to_heads(q, grid.queries, grid.positions, all_q.view, grid.group);
  parts.tokens_to_heads(k, grid.keys, grid.positions, all_k.view, grid.group);
  parts.tokens_to_heads(v, grid.keys, grid.positions, all_v.view, grid.group);
  grid.by_key_head([&](Index first, Index heads, Index kv) {
    parts.ring(some(all_q.view, first, heads), some(all_k.view, kv, 1), some(all_v.view, kv, 1),
               some(all_o.view, first, heads), some(as_matrix(all_lse.view), first, heads), grid.blocks,
               causal, grid.ring);
  });
  parts.heads_to_tokens(all_o.view, grid.queries, grid.positions, o, grid.group);
  parts.heads_to_tokens(all_lse.view, grid.queries, grid.positions, as_heads(lse), grid.group);
  //< task 2
}

void usp_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                  HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                  HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                  std::span<const Positions> positions, int ulysses, bool causal,
                  const course::GridParts& parts, MPI_Comm comm) {
  //> task 2
  //| // An exercise beside the tasks: task 2, with six tensors on the way there and three on the way back.
  //| throw course::NotImplemented("exercise, usp_backward");
  const Grid grid(dq.heads(), dk.heads(), positions, ulysses, parts, comm);
  const Index n = grid.tokens(), d = q.head_dim();
  const Room all_q(grid.heads(), n, d), all_k(grid.kv_heads(), n, d), all_v(grid.kv_heads(), n, d),
      all_o(grid.heads(), n, d), all_lse(grid.heads(), n, 1), all_d_o(grid.heads(), n, d),
      all_dq(grid.heads(), n, d), all_dk(grid.kv_heads(), n, d), all_dv(grid.kv_heads(), n, d);
  const auto there = [&](HeadsView<const float> x, const std::vector<course::KeyRange>& heads_of,
                         HeadsView<float> y) {
    parts.tokens_to_heads(x, heads_of, grid.positions, y, grid.group);
  };
  there(q, grid.queries, all_q.view);
  there(k, grid.keys, all_k.view);
  there(v, grid.keys, all_v.view);
  there(o, grid.queries, all_o.view);
  there(as_heads(lse), grid.queries, all_lse.view);
  there(d_o, grid.queries, all_d_o.view);
  grid.by_key_head([&](Index first, Index heads, Index kv) {
    const auto queries = [&](const Room& room) { return some(room.view, first, heads); };
    const auto key = [&](const Room& room) { return some(room.view, kv, 1); };
    parts.ring_backward(queries(all_q), key(all_k), key(all_v), queries(all_o), as_matrix(queries(all_lse)),
                        queries(all_d_o), queries(all_dq), key(all_dk), key(all_dv), grid.blocks, causal,
                        grid.ring);
  });
  parts.heads_to_tokens(all_dq.view, grid.queries, grid.positions, dq, grid.group);
  parts.heads_to_tokens(all_dk.view, grid.keys, grid.positions, dk, grid.group);
  parts.heads_to_tokens(all_dv.view, grid.keys, grid.positions, dv, grid.group);
  //< task 2
}

//> task 3
namespace {

/// Of each query the keys that it sees; both lists ascend.
std::vector<course::KeyRange> keys_seen(const Positions& queries, const Positions& keys, bool causal) {
  std::vector<course::KeyRange> seen;
  for (const Index query : queries)
    seen.push_back({0, causal ? std::ranges::upper_bound(keys, query) - keys.begin() : std::ssize(keys)});
  return seen;
}

float scale_of(HeadsView<const float> q) {
  return 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
}

/// Some key heads of all ranks, and the way from rows by rank to rows in order.
class Gather {
 public:
  Gather(HeadsView<const float> k, std::span<const Positions> positions, bool causal, Index at_once,
         MPI_Comm comm)
      : width_(k.head_dim()), at_once_(at_once), positions_(positions), comm_(comm) {
    require_divides(at_once, k.heads(), "key heads");
    for (const Positions& of : positions) {
      counts_.push_back(static_cast<int>(at_once * std::ssize(of) * width_));
      offsets_.push_back(static_cast<int>(at_once * tokens_ * width_));
      tokens_ += std::ssize(of);
    }
    Positions all(tokens_);
    for (Index i = 0; i < tokens_; ++i) all[i] = i;
    seen_ = keys_seen(positions[rank()], all, causal);
  }

  int rank() const { return rank_in(comm_); }
  Index tokens() const { return tokens_; }
  std::span<const course::KeyRange> seen() const { return seen_; }

  /// all [at_once, N, d] from every rank's own [at_once, n, d].
  void gather(HeadsView<const float> own, HeadsView<float> all) const {
    std::vector<float> arrived(all.size());
    MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_FLOAT, arrived.data(), counts_.data(),
                   offsets_.data(), MPI_FLOAT, comm_);
    each_row(arrived, all, [](std::span<float> by_rank, std::span<float> in_order) {
      std::ranges::copy(by_rank, in_order.begin());
    });
  }

  /// own [at_once, n, d]: the sum of what all ranks have of this rank's rows in `all`.
  void reduce_scatter(HeadsView<float> all, HeadsView<float> own) const {
    std::vector<float> packed(all.size());
    each_row(packed, all, [](std::span<float> by_rank, std::span<float> in_order) {
      std::ranges::copy(in_order, by_rank.begin());
    });
    MPI_Reduce_scatter(packed.data(), own.data(), counts_.data(), MPI_FLOAT, MPI_SUM, comm_);
  }

 private:
  template <class Move>
  void each_row(std::vector<float>& by_rank, HeadsView<float> in_order, Move move) const {
    for (std::size_t r = 0; r < positions_.size(); ++r) {
      const HeadsView<float> part(by_rank.data() + offsets_[r], at_once_, std::ssize(positions_[r]), width_);
      for (Index head = 0; head < at_once_; ++head) {
        for (Index row = 0; row < part.seq(); ++row)
          move(part.head(head).row(row), in_order.head(head).row(positions_[r][row]));
      }
    }
  }

  Index width_, at_once_, tokens_ = 0;
  std::span<const Positions> positions_;
  MPI_Comm comm_;
  std::vector<int> counts_, offsets_;
  std::vector<course::KeyRange> seen_;
};

}  // namespace

//< task 3
void gather_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                      HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                      bool causal, Index kv_heads_at_once, const course::BlockForward& block, MPI_Comm comm) {
  //> task 3
  //| // Some heads of each rank's k lie in one piece. How do those of all ranks lie when they have come?
  //| throw course::NotImplemented("task 3, gather_attention");
  const Gather on(k, positions, causal, kv_heads_at_once, comm);
  const Room all_k(kv_heads_at_once, on.tokens(), q.head_dim()),
      all_v(kv_heads_at_once, on.tokens(), q.head_dim());
  const Index queries = q.heads() / k.heads() * kv_heads_at_once;
  for (Index kv = 0, head = 0; kv < k.heads(); kv += kv_heads_at_once, head += queries) {
    on.gather(some(k, kv, kv_heads_at_once), all_k.view);
    on.gather(some(v, kv, kv_heads_at_once), all_v.view);
    course::AttentionState state(queries, q.seq(), q.head_dim());
    block.accumulate({some(q, head, queries), all_k.view, all_v.view, on.rank(), scale_of(q), on.seen()},
                     state);
    block.finish(state, some(o, head, queries), some(lse, head, queries));
  }
  //< task 3
}

//> task 4
namespace {

/// delta_i = o_i . d_o_i, a number a head and token.
std::vector<float> row_delta(HeadsView<const float> o, HeadsView<const float> d_o) {
  std::vector<float> delta(o.heads() * o.seq(), 0.0f);
  for (Index i = 0; i < o.size(); ++i) delta[i / o.head_dim()] += o.data()[i] * d_o.data()[i];
  return delta;
}

}  // namespace

//< task 4
void gather_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                     HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                     std::span<const Positions> positions, bool causal, Index kv_heads_at_once,
                     const course::BlockBackward& block, MPI_Comm comm) {
  //> task 4
  //| // Whose queries have looked at a key of this rank? Do one rank's rows of dk lie in one piece?
  //| throw course::NotImplemented("task 4, gather_backward");
  const Gather on(k, positions, causal, kv_heads_at_once, comm);
  const std::vector<float> delta = row_delta(o, d_o);
  const MatrixView<const float> all_delta(delta.data(), q.heads(), q.seq());
  const Index queries = q.heads() / k.heads() * kv_heads_at_once;
  std::fill_n(dq.data(), dq.size(), 0.0f);
  for (Index kv = 0, head = 0; kv < k.heads(); kv += kv_heads_at_once, head += queries) {
    const auto room = [&] { return Room(kv_heads_at_once, on.tokens(), q.head_dim()); };
    const Room all_k = room(), all_v = room(), all_dk = room(), all_dv = room();
    on.gather(some(k, kv, kv_heads_at_once), all_k.view);
    on.gather(some(v, kv, kv_heads_at_once), all_v.view);
    block.accumulate({some(q, head, queries), all_k.view, all_v.view, on.rank(), scale_of(q), on.seen()},
                     some(d_o, head, queries), some(lse, head, queries), some(all_delta, head, queries),
                     some(dq, head, queries), all_dk.view, all_dv.view);
    on.reduce_scatter(all_dk.view, some(dk, kv, kv_heads_at_once));
    on.reduce_scatter(all_dv.view, some(dv, kv, kv_heads_at_once));
  }
  //< task 4
}

int double_ring_owner(int rank, int outer, int inner, int node, int world_size) {
  //> task 5
  //| // Where has a block come from that made so many hops in each direction?
  //| throw course::NotImplemented("task 5, double_ring_owner");
  require_divides(node, world_size, "ranks");
  const int nodes = world_size / node;
  const int in_node = (rank % node + node - inner) % node, of_node = (rank / node + nodes - outer) % nodes;
  return in_node + node * of_node;
  //< task 5
}

//> task 6
namespace {

/// K and V of a rank.
struct Block {
  int owner;
  HeadsView<const float> k, v;
};

/// A room for a block of any rank.
struct BlockRoom {
  BlockRoom(Index heads, Index longest, Index width) : k(heads * longest * width), v(k.size()) {}
  std::vector<float> k, v;
};

/// A hop that is under way: from `rank - 1` in its ring into a room, and what is here to `rank + 1`.
class Hop {
 public:
  Hop(const Block& here, int next, const Block& coming, BlockRoom& room, int previous, MPI_Comm comm) {
    const auto receive = [&](std::vector<float>& to, HeadsView<const float> view, int tag) {
      MPI_Irecv(to.data(), static_cast<int>(view.size()), MPI_FLOAT, previous, tag, comm, next_request());
    };
    const auto send = [&](HeadsView<const float> from, int tag) {
      MPI_Isend(from.data(), static_cast<int>(from.size()), MPI_FLOAT, next, tag, comm, next_request());
    };
    receive(room.k, coming.k, 0);
    receive(room.v, coming.v, 1);
    send(here.k, 0);
    send(here.v, 1);
  }
  void wait() { MPI_Waitall(4, requests_, MPI_STATUSES_IGNORE); }

 private:
  MPI_Request* next_request() { return &requests_[started_++]; }

  MPI_Request requests_[4];
  int started_ = 0;
};

}  // namespace

//< task 6
void double_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           bool causal, int node, const course::BlockForward& block, MPI_Comm comm) {
  //> task 6
  //| // When can the block that entered the node leave it? What must not land on what is still going out?
  //| throw course::NotImplemented("task 6, double_ring_attention");
  const int rank = rank_in(comm), ranks = ranks_of(comm);
  require_divides(node, ranks, "ranks");
  const int nodes = ranks / node, first_of_node = rank / node * node;
  Index longest = 0;
  for (const Positions& of : positions) longest = std::max(longest, std::ssize(of));
  const auto room = [&] { return BlockRoom(k.heads(), longest, k.head_dim()); };
  std::vector<BlockRoom> inner_rooms, outer_rooms;
  for (int i = 0; i < std::min(node - 1, 2); ++i) inner_rooms.push_back(room());
  for (int i = 0; i < std::min(nodes - 1, 2); ++i) outer_rooms.push_back(room());

  const auto block_in = [&](const BlockRoom& lies_in, int outer, int inner) {
    const int owner = double_ring_owner(rank, outer, inner, node, ranks);
    const Index tokens = std::ssize(positions[owner]);
    return Block{owner,
                 {lies_in.k.data(), k.heads(), tokens, k.head_dim()},
                 {lies_in.v.data(), k.heads(), tokens, k.head_dim()}};
  };
  course::AttentionState state(q.heads(), q.seq(), q.head_dim());
  const auto attend = [&](const Block& to) {
    const std::vector<course::KeyRange> seen = keys_seen(positions[rank], positions[to.owner], causal);
    if (seen.empty() || seen.back().last == 0) return;  // the last query sees most
    block.accumulate({q, to.k, to.v, to.owner, scale_of(q), seen}, state);
  };
  Block entered{rank, k, v};
  for (int outer = 0; outer < nodes; ++outer) {
    std::optional<Hop> between;
    Block next_entered = entered;
    if (outer + 1 < nodes) {
      BlockRoom& free = outer_rooms[outer % outer_rooms.size()];
      next_entered = block_in(free, outer + 1, 0);
      between.emplace(entered, (rank + node) % ranks, next_entered, free, (rank + ranks - node) % ranks,
                      comm);
    }
    Block held = entered;
    for (int inner = 1; inner < node; ++inner) {
      BlockRoom& free = inner_rooms[inner % inner_rooms.size()];
      const Block coming = block_in(free, outer, inner);
      Hop inside(held, first_of_node + (rank + 1) % node, coming, free,
                 first_of_node + (rank + node - 1) % node, comm);
      attend(held);
      inside.wait();
      held = coming;
    }
    attend(held);
    if (between) between->wait();
    entered = next_entered;
  }
  block.finish(state, o, lse);
  //< task 6
}

}  // namespace lesson18
