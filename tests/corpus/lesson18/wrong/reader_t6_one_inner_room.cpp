// wrong: the inner ring receives into the room that it is sending from
// line: coming = begin_hop(here, inner_next, inner_rooms[0],
// rating: led
#include "grids_and_gathers.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson18 {

namespace {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

int size_of(MPI_Comm comm) {
  int size = 0;
  MPI_Comm_size(comm, &size);
  return size;
}

void require_divides(const std::string& part_name, Index part, const std::string& whole_name, Index whole) {
  if (part >= 1 && whole % part == 0) return;
  throw std::invalid_argument(part_name + " is " + std::to_string(part) + ", and there are " +
                              std::to_string(whole) + " " + whole_name +
                              ": expected a number from 1 on that divides them");
}

/// A part of a communicator, freed with its owner.
class Part {
 public:
  Part(MPI_Comm comm, int colour, int key) { MPI_Comm_split(comm, colour, key, &comm_); }
  ~Part() { MPI_Comm_free(&comm_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

Index count_of(const Positions& positions) { return static_cast<Index>(positions.size()); }

Index tokens_of(std::span<const Positions> positions) {
  Index tokens = 0;
  for (const Positions& list : positions) tokens += count_of(list);
  return tokens;
}

template <class T>
HeadsView<T> some_heads(HeadsView<T> x, Index first, Index count) {
  return {x.data() + first * x.seq() * x.head_dim(), count, x.seq(), x.head_dim()};
}

template <class T>
MatrixView<T> some_rows(MatrixView<T> x, Index first, Index count) {
  return {x.data() + first * x.cols(), count, x.cols()};
}

HeadsView<float> view(std::vector<float>& x, Index heads, Index rows, Index width) {
  return {x.data(), heads, rows, width};
}

}  // namespace

Place grid_place(int rank, int ulysses) { return {rank % ulysses, rank / ulysses}; }

int world_rank(int t, int u, int r, int replica, int T, int U, int R) {
  return t + T * (u + U * (r + R * replica));
}

Positions grid_positions(Index tokens, int ulysses, int rings, bool zigzag, int rank) {
  const auto [u, r] = grid_place(rank, ulysses);
  const std::vector<int> chunks = course::even_shards(static_cast<int>(tokens), zigzag ? 2 * rings : rings);
  const std::vector<int> begins = course::shard_offsets(chunks);
  Positions block;
  const auto add = [&](int chunk) {
    for (int i = 0; i < chunks[chunk]; ++i) block.push_back(begins[chunk] + i);
  };
  add(r);
  if (zigzag) add(2 * rings - 1 - r);
  const std::vector<int> slices = course::even_shards(static_cast<int>(block.size()), ulysses);
  const auto begin = block.begin() + course::shard_offsets(slices)[u];
  return Positions(begin, begin + slices[u]);
}

void usp_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                   HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                   int ulysses, bool causal, const course::GridParts& parts, MPI_Comm comm) {
  const int size = size_of(comm);
  require_divides("ulysses", ulysses, "ranks", size);
  const auto [u, r] = grid_place(rank_in(comm), ulysses);
  const int rings = size / ulysses;
  const Part group(comm, r, u);
  const Part ring(comm, u, r);

  const std::span<const Positions> of_group = positions.subspan(ulysses * r, ulysses);
  std::vector<Positions> of_ring(rings);
  for (int other = 0; other < rings; ++other) {
    for (int place = 0; place < ulysses; ++place) {
      const Positions& list = positions[other * ulysses + place];
      of_ring[other].insert(of_ring[other].end(), list.begin(), list.end());
    }
    std::ranges::sort(of_ring[other]);
  }

  const Index heads = q.heads(), kv_heads = k.heads(), d = q.head_dim(), per_key = heads / kv_heads;
  std::vector<course::KeyRange> query_heads, key_heads;
  for (int place = 0; place < ulysses; ++place) {
    const course::HeadShare share = parts.share(heads, kv_heads, ulysses, place);
    query_heads.push_back({share.first, share.last});
    key_heads.push_back({share.kv_first, share.kv_last});
  }
  const course::HeadShare mine = parts.share(heads, kv_heads, ulysses, u);
  const Index own = mine.last - mine.first, own_kv = mine.kv_last - mine.kv_first;
  const Index n = count_of(of_ring[r]);

  std::vector<float> all_q(own * n * d), all_k(own_kv * n * d), all_v(own_kv * n * d), all_o(own * n * d),
      all_lse(own * n);
  const HeadsView<float> qs = view(all_q, own, n, d), ks = view(all_k, own_kv, n, d),
                         vs = view(all_v, own_kv, n, d), os = view(all_o, own, n, d);
  const MatrixView<float> lses(all_lse.data(), own, n);
  parts.tokens_to_heads(q, query_heads, of_group, qs, group.get());
  parts.tokens_to_heads(k, key_heads, of_group, ks, group.get());
  parts.tokens_to_heads(v, key_heads, of_group, vs, group.get());

  for (Index key_head = mine.kv_first; key_head < mine.kv_last; ++key_head) {
    const Index first = std::max(mine.first, key_head * per_key);
    const Index last = std::min(mine.last, (key_head + 1) * per_key);
    const Index at = first - mine.first, count = last - first, kv_at = key_head - mine.kv_first;
    parts.ring(some_heads(qs, at, count), some_heads(ks, kv_at, 1), some_heads(vs, kv_at, 1),
               some_heads(os, at, count), some_rows(lses, at, count), of_ring, causal, ring.get());
  }

  parts.heads_to_tokens(os, query_heads, of_group, o, group.get());
  parts.heads_to_tokens(view(all_lse, own, n, 1), query_heads, of_group,
                        HeadsView<float>(lse.data(), heads, lse.cols(), 1), group.get());
}

void usp_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                  HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                  HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                  std::span<const Positions> positions, int ulysses, bool causal,
                  const course::GridParts& parts, MPI_Comm comm) {
  // An exercise beside the tasks: task 2, with six tensors on the way there and three on the way back.
  throw course::NotImplemented("exercise, usp_backward");
}

namespace {

/// Some key heads of all ranks: how they are cut, and the way from the ranks' parts to the sequence and back.
struct Gather {
  std::span<const Positions> positions;
  Index heads, width, tokens;
  std::vector<int> counts, offsets;
  MPI_Comm comm;

  Gather(std::span<const Positions> of, Index heads_at_once, Index head_dim, MPI_Comm over)
      : positions(of), heads(heads_at_once), width(head_dim), tokens(tokens_of(of)), comm(over) {
    for (const Positions& list : positions) counts.push_back(static_cast<int>(heads * count_of(list) * width));
    offsets = course::shard_offsets(counts);
  }

  std::size_t numbers() const { return static_cast<std::size_t>(heads * tokens * width); }

  /// Calls move(row rank by rank, row of the sequence) for every row, both as the addresses of their first
  /// number.
  template <class Move>
  void for_rows(std::vector<float>& by_rank, std::vector<float>& in_order, Move move) const {
    float* at = by_rank.data();
    for (const Positions& list : positions) {
      for (Index head = 0; head < heads; ++head) {
        for (const Index position : list) {
          move(at, in_order.data() + (head * tokens + position) * width);
          at += width;
        }
      }
    }
  }

  void gather(HeadsView<const float> own, std::vector<float>& by_rank, std::vector<float>& in_order) const {
    MPI_Allgatherv(own.data(), static_cast<int>(own.size()), MPI_FLOAT, by_rank.data(), counts.data(),
                   offsets.data(), MPI_FLOAT, comm);
    for_rows(by_rank, in_order, [&](float* from, float* to) { std::copy_n(from, width, to); });
  }

  void scatter_sum(std::vector<float>& in_order, std::vector<float>& by_rank, HeadsView<float> own) const {
    for_rows(by_rank, in_order, [&](float* to, float* from) { std::copy_n(from, width, to); });
    MPI_Reduce_scatter(by_rank.data(), own.data(), counts.data(), MPI_FLOAT, MPI_SUM, comm);
  }
};

std::vector<course::KeyRange> up_to_own(const Positions& mine, Index tokens, bool causal) {
  std::vector<course::KeyRange> seen;
  for (const Index position : mine) seen.push_back({0, causal ? position + 1 : tokens});
  return seen;
}

float scale_of(Index head_dim) { return 1.0f / std::sqrt(static_cast<float>(head_dim)); }

}  // namespace

void gather_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                      HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                      bool causal, Index kv_heads_at_once, const course::BlockForward& block, MPI_Comm comm) {
  const Index x = kv_heads_at_once, kv_heads = k.heads(), d = q.head_dim(), n = q.seq();
  require_divides("kv_heads_at_once", x, "key heads", kv_heads);
  const int rank = rank_in(comm);
  const Index per_key = q.heads() / kv_heads;
  const Gather gather(positions, x, d, comm);
  std::vector<float> arrived(gather.numbers()), keys(gather.numbers()), values(gather.numbers());
  const std::vector<course::KeyRange> seen = up_to_own(positions[rank], gather.tokens, causal);
  for (Index first = 0; first < kv_heads; first += x) {
    gather.gather(some_heads(k, first, x), arrived, keys);
    gather.gather(some_heads(v, first, x), arrived, values);
    const Index query_first = first * per_key, query_count = x * per_key;
    course::AttentionState state(query_count, n, d);
    block.accumulate({some_heads(q, query_first, query_count), view(keys, x, gather.tokens, d),
                      view(values, x, gather.tokens, d), rank, scale_of(d), seen},
                     state);
    block.finish(state, some_heads(o, query_first, query_count), some_rows(lse, query_first, query_count));
  }
}

void gather_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                     HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                     std::span<const Positions> positions, bool causal, Index kv_heads_at_once,
                     const course::BlockBackward& block, MPI_Comm comm) {
  const Index x = kv_heads_at_once, kv_heads = k.heads(), d = q.head_dim(), n = q.seq();
  require_divides("kv_heads_at_once", x, "key heads", kv_heads);
  const int rank = rank_in(comm);
  const Index per_key = q.heads() / kv_heads;
  const Gather gather(positions, x, d, comm);
  std::vector<float> by_rank(gather.numbers()), keys(gather.numbers()), values(gather.numbers());
  const std::vector<course::KeyRange> seen = up_to_own(positions[rank], gather.tokens, causal);

  std::vector<float> deltas(q.heads() * n, 0.0f);
  const MatrixView<float> delta(deltas.data(), q.heads(), n);
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index row = 0; row < n; ++row) {
      for (Index col = 0; col < d; ++col) delta(head, row) += o(head, row, col) * d_o(head, row, col);
    }
  }
  std::fill_n(dq.data(), dq.size(), 0.0f);

  for (Index first = 0; first < kv_heads; first += x) {
    gather.gather(some_heads(k, first, x), by_rank, keys);
    gather.gather(some_heads(v, first, x), by_rank, values);
    std::vector<float> d_keys(gather.numbers(), 0.0f), d_values(gather.numbers(), 0.0f);
    const Index query_first = first * per_key, query_count = x * per_key;
    block.accumulate({some_heads(q, query_first, query_count), view(keys, x, gather.tokens, d),
                      view(values, x, gather.tokens, d), rank, scale_of(d), seen},
                     some_heads(d_o, query_first, query_count), some_rows(lse, query_first, query_count),
                     some_rows(MatrixView<const float>(delta), query_first, query_count),
                     some_heads(dq, query_first, query_count), view(d_keys, x, gather.tokens, d),
                     view(d_values, x, gather.tokens, d));
    gather.scatter_sum(d_keys, by_rank, some_heads(dk, first, x));
    gather.scatter_sum(d_values, by_rank, some_heads(dv, first, x));
  }
}

int double_ring_owner(int rank, int outer, int inner, int node, int world_size) {
  require_divides("node", node, "ranks", world_size);
  const int nodes = world_size / node;
  const int place = (rank % node - inner + node) % node;
  const int which = (rank / node - outer + nodes) % nodes;
  return place + node * which;
}

namespace {

/// A rank's keys and values, wherever they lie.
struct Held {
  int owner;
  const float* k;
  const float* v;
};

}  // namespace

void double_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                           bool causal, int node, const course::BlockForward& block, MPI_Comm comm) {
  const int size = size_of(comm), rank = rank_in(comm);
  require_divides("node", node, "ranks", size);
  const int nodes = size / node;
  const Index heads = q.heads(), kv_heads = k.heads(), n = q.seq(), d = q.head_dim();
  const Positions& mine = positions[rank];

  Index longest = 0;
  for (const Positions& list : positions) longest = std::max(longest, count_of(list));
  const std::size_t room = static_cast<std::size_t>(2 * kv_heads * longest * d);
  std::array<std::vector<float>, 2> inner_rooms, outer_rooms;
  for (int i = 0; i < std::min(2, node - 1); ++i) inner_rooms[i].resize(room);
  for (int i = 0; i < std::min(2, nodes - 1); ++i) outer_rooms[i].resize(room);

  const auto numbers = [&](int owner) { return static_cast<int>(kv_heads * count_of(positions[owner]) * d); };
  /// Begins to send one block and to receive another into `to`, which is returned.
  const auto begin_hop = [&](const Held& out, int target, std::vector<float>& to, int owner, int source,
                             int tag, std::array<MPI_Request, 4>& requests) {
    const int coming = numbers(owner), going = numbers(out.owner);
    MPI_Irecv(to.data(), coming, MPI_FLOAT, source, tag, comm, &requests[0]);
    MPI_Irecv(to.data() + coming, coming, MPI_FLOAT, source, tag + 1, comm, &requests[1]);
    MPI_Isend(out.k, going, MPI_FLOAT, target, tag, comm, &requests[2]);
    MPI_Isend(out.v, going, MPI_FLOAT, target, tag + 1, comm, &requests[3]);
    return Held{owner, to.data(), to.data() + coming};
  };

  course::AttentionState state(heads, n, d);
  const auto compute = [&](const Held& held) {
    const Positions& theirs = positions[held.owner];
    std::vector<course::KeyRange> seen;
    bool any = false;
    for (const Index position : mine) {
      const Index last = causal ? std::ranges::upper_bound(theirs, position) - theirs.begin() : std::ssize(theirs);
      seen.push_back({0, last});
      any = any || last > 0;
    }
    if (!any) return;
    const HeadsView<const float> keys(held.k, kv_heads, count_of(theirs), d);
    const HeadsView<const float> values(held.v, kv_heads, count_of(theirs), d);
    block.accumulate({q, keys, values, held.owner, scale_of(d), seen}, state);
  };

  const int first_of_node = rank / node * node, place = rank % node;
  const int inner_next = first_of_node + (place + 1) % node;
  const int inner_previous = first_of_node + (place + node - 1) % node;
  const int outer_next = (rank + node) % size, outer_previous = (rank + size - node) % size;

  Held entered{rank, k.data(), v.data()};
  for (int outer = 0; outer < nodes; ++outer) {
    std::array<MPI_Request, 4> outer_requests;
    outer_requests.fill(MPI_REQUEST_NULL);
    Held entering = entered;
    if (outer + 1 < nodes) {
      entering = begin_hop(entered, outer_next, outer_rooms[outer % 2],
                           double_ring_owner(rank, outer + 1, 0, node, size), outer_previous, 0,
                           outer_requests);
    }
    Held here = entered;
    for (int inner = 0; inner < node; ++inner) {
      std::array<MPI_Request, 4> inner_requests;
      inner_requests.fill(MPI_REQUEST_NULL);
      Held coming = here;
      if (inner + 1 < node) {
        coming = begin_hop(here, inner_next, inner_rooms[0],
                           double_ring_owner(rank, outer, inner + 1, node, size), inner_previous, 2,
                           inner_requests);
      }
      compute(here);
      MPI_Waitall(4, inner_requests.data(), MPI_STATUSES_IGNORE);
      here = coming;
    }
    MPI_Waitall(4, outer_requests.data(), MPI_STATUSES_IGNORE);
    entered = entering;
  }
  block.finish(state, o, lse);
}

}  // namespace lesson18
