// wrong: the part for rank p is taken to begin behind p parts of its own size, which is right for equal shares without copies alone
// line: side.add(count, static_cast<Index>(side.counts.size()) * count);
// rating: led
#include "ulysses.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace lesson17 {

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

Index length(HeadRange range) { return range.last - range.first; }

Index tokens_of(const Positions& positions) { return std::ssize(positions); }

Index total_tokens(std::span<const Positions> positions) {
  Index total = 0;
  for (const Positions& list : positions) total += tokens_of(list);
  return total;
}

void require_equal(const char* what, Index is, Index expected) {
  if (is == expected) return;
  throw std::invalid_argument(std::string(what) + " is " + std::to_string(is) + ", expected " +
                              std::to_string(expected));
}

Index group_size(Index heads, Index kv_heads) {
  if (kv_heads < 1 || heads % kv_heads != 0)
    throw std::invalid_argument(std::to_string(heads) + " query heads cannot share " +
                                std::to_string(kv_heads) + " key heads evenly");
  return heads / kv_heads;
}

// What the two exchanges ask of their arguments. whole is by tokens, part by heads.
void require_fit(HeadsView<const float> whole, HeadsView<const float> part, std::span<const HeadRange> heads_of,
                 std::span<const Positions> positions, int size, int rank) {
  require_equal("the number of entries of heads_of", std::ssize(heads_of), size);
  require_equal("the number of entries of positions", std::ssize(positions), size);
  for (const HeadRange range : heads_of) {
    if (range.first == range.last) continue;
    if (range.first < 0 || range.last < range.first || range.last > whole.heads())
      throw std::invalid_argument("heads " + std::to_string(range.first) + " to " + std::to_string(range.last) +
                                  " are not within " + std::to_string(whole.heads()) + " heads");
  }
  require_equal("rows of x", whole.seq(), tokens_of(positions[static_cast<std::size_t>(rank)]));
  require_equal("heads of y", part.heads(), length(heads_of[static_cast<std::size_t>(rank)]));
  require_equal("rows of y", part.seq(), total_tokens(positions));
  require_equal("the width of y", part.head_dim(), whole.head_dim());
}

// The counts and offsets of one side of an exchange.
struct Side {
  std::vector<int> counts, offsets;

  void add(Index count, Index offset) {
    counts.push_back(static_cast<int>(count));
    offsets.push_back(static_cast<int>(offset));
  }
};

// The side on which tensors are [all heads, own tokens, d]: one run for each rank, of that rank's heads.
Side token_side(HeadsView<const float> x, std::span<const HeadRange> heads_of) {
  Side side;
  for (const HeadRange range : heads_of) {
    const Index count = length(range) * x.seq() * x.head_dim();
    side.add(count, static_cast<Index>(side.counts.size()) * count);
  }
  return side;
}

// The side that has parts [own heads, tokens of r, d], one after another, in a room of its own.
Side head_side(HeadsView<const float> y, std::span<const Positions> positions) {
  Side side;
  Index offset = 0;
  for (const Positions& list : positions) {
    const Index count = y.heads() * tokens_of(list) * y.head_dim();
    side.add(count, offset);
    offset += count;
  }
  return side;
}

}  // namespace

HeadShare head_share(Index heads, Index kv_heads, int world_size, int rank) {
  const Index group = group_size(heads, kv_heads);
  const Index base = heads / world_size;
  const Index longer = heads % world_size;
  HeadShare share{};
  share.first = rank * base + std::min<Index>(rank, longer);
  share.last = share.first + base + (rank < longer ? 1 : 0);
  if (share.first == share.last) return share;
  share.kv_first = share.first / group;
  share.kv_last = (share.last - 1) / group + 1;
  return share;
}

std::vector<std::int64_t> ulysses_traffic(std::span<const int> shard_tokens, Index heads, Index kv_heads,
                                          Index head_dim, int rank) {
  const int size = static_cast<int>(shard_tokens.size());
  const HeadShare mine = head_share(heads, kv_heads, size, rank);
  std::vector<std::int64_t> bytes(shard_tokens.size(), 0);
  for (int other = 0; other < size; ++other) {
    if (other == rank) continue;
    const HeadShare theirs = head_share(heads, kv_heads, size, other);
    const std::int64_t my_tokens = shard_tokens[static_cast<std::size_t>(rank)];
    const std::int64_t their_tokens = shard_tokens[static_cast<std::size_t>(other)];
    const std::int64_t there =
        my_tokens * (theirs.last - theirs.first + 2 * (theirs.kv_last - theirs.kv_first)) * head_dim;
    const std::int64_t back = their_tokens * (mine.last - mine.first) * (head_dim + 1);
    bytes[static_cast<std::size_t>(other)] = 4 * (there + back);
  }
  return bytes;
}

void tokens_to_heads(HeadsView<const float> x, std::span<const HeadRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> y, MPI_Comm comm) {
  require_fit(x, y, heads_of, positions, size_of(comm), rank_in(comm));
  const Side send = token_side(x, heads_of);
  const Side receive = head_side(y, positions);
  std::vector<float> arrived(static_cast<std::size_t>(y.size()));
  MPI_Alltoallv(x.data(), send.counts.data(), send.offsets.data(), MPI_FLOAT, arrived.data(),
                receive.counts.data(), receive.offsets.data(), MPI_FLOAT, comm);
  const float* from = arrived.data();
  for (const Positions& list : positions) {
    for (Index head = 0; head < y.heads(); ++head) {
      for (const Index position : list) {
        std::copy_n(from, y.head_dim(), y.head(head).row(position).begin());
        from += y.head_dim();
      }
    }
  }
}

void heads_to_tokens(HeadsView<const float> y, std::span<const HeadRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> x, MPI_Comm comm) {
  require_fit(x, y, heads_of, positions, size_of(comm), rank_in(comm));
  const Side send = head_side(y, positions);
  std::vector<float> packed(static_cast<std::size_t>(y.size()));
  float* to = packed.data();
  for (const Positions& list : positions) {
    for (Index head = 0; head < y.heads(); ++head) {
      for (const Index position : list) to = std::ranges::copy(y.head(head).row(position), to).out;
    }
  }
  Side receive;
  Index offset = 0;
  for (const HeadRange range : heads_of) {
    const Index count = length(range) * x.seq() * x.head_dim();
    receive.add(count, offset);
    offset += count;
  }
  std::vector<float> arrived(static_cast<std::size_t>(offset));
  MPI_Alltoallv(packed.data(), send.counts.data(), send.offsets.data(), MPI_FLOAT, arrived.data(),
                receive.counts.data(), receive.offsets.data(), MPI_FLOAT, comm);
  std::fill_n(x.data(), x.size(), 0.0f);
  const float* from = arrived.data();
  for (const HeadRange range : heads_of) {
    for (Index head = range.first; head < range.last; ++head) {
      for (Index row = 0; row < x.seq(); ++row) {
        for (float& number : x.head(head).row(row)) number += *from++;
      }
    }
  }
}

namespace {

// What both passes know of the shares.
struct Plan {
  Plan(Index heads, Index kv_heads, Index width, std::span<const Positions> positions, MPI_Comm comm)
      : rank(rank_in(comm)),
        group(group_size(heads, kv_heads)),
        share(head_share(heads, kv_heads, size_of(comm), rank)),
        own(share.last - share.first),
        own_kv(share.kv_last - share.kv_first),
        tokens(total_tokens(positions)),
        width(width),
        scale(1.0f / std::sqrt(static_cast<float>(width))) {
    for (int other = 0; other < size_of(comm); ++other) {
      const HeadShare theirs = head_share(heads, kv_heads, size_of(comm), other);
      query_heads.push_back({theirs.first, theirs.last});
      key_heads.push_back({theirs.kv_first, theirs.kv_last});
    }
    for (Index row = 0; row < tokens; ++row) seen.push_back({0, row + 1});
  }

  std::vector<float> room(Index heads, Index columns) const {
    return std::vector<float>(static_cast<std::size_t>(heads * tokens * columns));
  }

  // Heads first .. first + count - 1 of numbers [heads, tokens, columns].
  template <class T>
  HeadsView<T> heads_from(T* data, Index first, Index count, Index columns) const {
    return {data + first * tokens * columns, count, tokens, columns};
  }

  // Of the share, the query heads that look at the model's key head j.
  HeadRange looking_at(Index j) const {
    return {std::max(j * group, share.first) - share.first,
            std::min((j + 1) * group, share.last) - share.first};
  }

  course::BlockRequest request(const HeadShard& shard, Index j, bool causal) const {
    const HeadRange range = looking_at(j);
    const Index kv = j - share.kv_first;
    course::BlockRequest request{heads_from(shard.q.data(), range.first, length(range), width),
                                 heads_from(shard.k.data(), kv, 1, width),
                                 heads_from(shard.v.data(), kv, 1, width), rank, scale};
    if (causal) request.seen = seen;
    return request;
  }

  int rank;
  Index group;
  HeadShare share;
  Index own, own_kv, tokens, width;
  float scale;
  std::vector<HeadRange> query_heads, key_heads;
  std::vector<course::KeyRange> seen;
};

}  // namespace

HeadShard ulysses_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                            bool causal, const course::BlockForward& block, MPI_Comm comm) {
  const Plan plan(q.heads(), k.heads(), q.head_dim(), positions, comm);
  const Index d = plan.width;
  HeadShard kept{plan.room(plan.own, d), plan.room(plan.own_kv, d), plan.room(plan.own_kv, d),
                 plan.room(plan.own, d), plan.room(plan.own, 1)};
  tokens_to_heads(q, plan.query_heads, positions, plan.heads_from(kept.q.data(), 0, plan.own, d), comm);
  tokens_to_heads(k, plan.key_heads, positions, plan.heads_from(kept.k.data(), 0, plan.own_kv, d), comm);
  tokens_to_heads(v, plan.key_heads, positions, plan.heads_from(kept.v.data(), 0, plan.own_kv, d), comm);
  for (Index j = plan.share.kv_first; j < plan.share.kv_last; ++j) {
    const HeadRange range = plan.looking_at(j);
    course::AttentionState state(length(range), plan.tokens, d);
    block.accumulate(plan.request(kept, j, causal), state);
    block.finish(state, plan.heads_from(kept.o.data(), range.first, length(range), d),
                 {kept.lse.data() + range.first * plan.tokens, length(range), plan.tokens});
  }
  heads_to_tokens(plan.heads_from(kept.o.data(), 0, plan.own, d), plan.query_heads, positions, o, comm);
  heads_to_tokens(plan.heads_from(kept.lse.data(), 0, plan.own, 1), plan.query_heads, positions,
                  HeadsView<float>(lse.data(), lse.rows(), lse.cols(), 1), comm);
  return kept;
}

void ulysses_backward(const HeadShard& kept, HeadsView<const float> d_o, HeadsView<float> dq,
                      HeadsView<float> dk, HeadsView<float> dv, std::span<const Positions> positions,
                      bool causal, const course::BlockBackward& block, MPI_Comm comm) {
  const Plan plan(d_o.heads(), dk.heads(), d_o.head_dim(), positions, comm);
  const Index d = plan.width;
  std::vector<float> whole_d_o = plan.room(plan.own, d);
  tokens_to_heads(d_o, plan.query_heads, positions, plan.heads_from(whole_d_o.data(), 0, plan.own, d), comm);
  std::vector<float> delta = plan.room(plan.own, 1);
  for (std::size_t row = 0; row < delta.size(); ++row) {
    for (std::size_t col = 0; col < static_cast<std::size_t>(d); ++col) {
      const std::size_t at = row * static_cast<std::size_t>(d) + col;
      delta[row] += kept.o[at] * whole_d_o[at];
    }
  }
  std::vector<float> whole_dq = plan.room(plan.own, d);
  std::vector<float> whole_dk = plan.room(plan.own_kv, d);
  std::vector<float> whole_dv = plan.room(plan.own_kv, d);
  for (Index j = plan.share.kv_first; j < plan.share.kv_last; ++j) {
    const HeadRange range = plan.looking_at(j);
    const Index count = length(range);
    const Index kv = j - plan.share.kv_first;
    const HeadsView<const float> part = plan.heads_from<const float>(whole_d_o.data(), range.first, count, d);
    block.accumulate(plan.request(kept, j, causal), part,
                     {kept.lse.data() + range.first * plan.tokens, count, plan.tokens},
                     MatrixView<const float>(delta.data() + range.first * plan.tokens, count, plan.tokens),
                     plan.heads_from(whole_dq.data(), range.first, count, d),
                     plan.heads_from(whole_dk.data(), kv, 1, d), plan.heads_from(whole_dv.data(), kv, 1, d));
  }
  heads_to_tokens(plan.heads_from(whole_dq.data(), 0, plan.own, d), plan.query_heads, positions, dq, comm);
  heads_to_tokens(plan.heads_from(whole_dk.data(), 0, plan.own_kv, d), plan.key_heads, positions, dk, comm);
  heads_to_tokens(plan.heads_from(whole_dv.data(), 0, plan.own_kv, d), plan.key_heads, positions, dv, comm);
}

}  // namespace lesson17
