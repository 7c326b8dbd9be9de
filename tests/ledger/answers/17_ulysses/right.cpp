#include "ulysses.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "lesson/not_implemented.hpp"

namespace lesson17 {

HeadShare head_share(Index heads, Index kv_heads, int world_size, int rank) {
  if (kv_heads < 1 || heads % kv_heads != 0)
    throw std::invalid_argument(std::to_string(kv_heads) + " key heads do not divide " +
                                std::to_string(heads) + " query heads");
  const Index least = heads / world_size, longer = heads % world_size, group = heads / kv_heads;
  const Index first = rank * least + std::min<Index>(rank, longer);
  const Index last = first + least + (rank < longer ? 1 : 0);
  if (first == last) return {first, first, 0, 0};
  return {first, last, first / group, (last - 1) / group + 1};
}

namespace {

Index query_heads(const HeadShare& share) {
  return share.last - share.first;
}

Index key_heads(const HeadShare& share) {
  return share.kv_last - share.kv_first;
}

}  // namespace

std::vector<std::int64_t> ulysses_traffic(std::span<const int> shard_tokens, Index heads, Index kv_heads,
                                          Index head_dim, int rank) {
  const int ranks = static_cast<int>(shard_tokens.size());
  const HeadShare own = head_share(heads, kv_heads, ranks, rank);
  std::vector<std::int64_t> bytes;
  for (int to = 0; to < ranks; ++to) {
    const HeadShare theirs = head_share(heads, kv_heads, ranks, to);
    const Index there = shard_tokens[rank] * (query_heads(theirs) + 2 * key_heads(theirs)) * head_dim;
    const Index back = shard_tokens[to] * query_heads(own) * (head_dim + 1);
    bytes.push_back(to == rank ? 0 : static_cast<std::int64_t>(sizeof(float)) * (there + back));
  }
  return bytes;
}

namespace {

Index count_of(const HeadRange& heads) {
  return heads.last - heads.first;
}

void require_equal(const std::string& what, Index found, Index expected) {
  if (found == expected) return;
  throw std::invalid_argument(what + ": " + std::to_string(found) + ", expected " + std::to_string(expected));
}

/// Who has which tokens and heads; x has all heads of this rank's tokens, y all tokens of its heads.
struct Exchange {
  Exchange(HeadsView<const float> x, HeadsView<const float> y, std::span<const HeadRange> of_ranks,
           std::span<const Positions> lists, MPI_Comm on)
      : heads_of(of_ranks), positions(lists), width(x.head_dim()), comm(on) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    require_equal("ranges of heads", std::ssize(heads_of), ranks);
    require_equal("lists of positions", std::ssize(positions), ranks);
    Index all = 0;
    for (int r = 0; r < ranks; ++r) {
      const auto [first, last] = heads_of[r];
      if (first < 0 || last < first || last > x.heads())
        throw std::invalid_argument("heads " + std::to_string(first) + " to before " + std::to_string(last) +
                                    " of " + std::to_string(x.heads()));
      all += tokens(r);
    }
    require_equal("rows of x", x.seq(), tokens(rank));
    require_equal("heads of y", y.heads(), heads(rank));
    require_equal("rows of y", y.seq(), all);
    require_equal("width of y", y.head_dim(), width);
  }

  Index tokens(int of) const { return std::ssize(positions[of]); }
  Index heads(int of) const { return count_of(heads_of[of]); }

  std::span<const HeadRange> heads_of;
  std::span<const Positions> positions;
  Index width;
  MPI_Comm comm;
  int rank = 0, ranks = 0;
};

/// By rank how many numbers, and where they begin.
struct Parts {
  void add(Index count, Index offset) {
    counts.push_back(static_cast<int>(count));
    offsets.push_back(static_cast<int>(offset));
  }
  /// One behind the other.
  void add(Index count) {
    add(count, all);
    all += count;
  }
  std::vector<int> counts, offsets;
  Index all = 0;
};

void exchange(const float* out, const Parts& sent, float* in, const Parts& received, MPI_Comm comm) {
  MPI_Alltoallv(out, sent.counts.data(), sent.offsets.data(), MPI_FLOAT, in, received.counts.data(),
                received.offsets.data(), MPI_FLOAT, comm);
}

}  // namespace

void tokens_to_heads(HeadsView<const float> x, std::span<const HeadRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> y, MPI_Comm comm) {
  const Exchange on(x, y, heads_of, positions, comm);
  Parts sent, received;
  for (int r = 0; r < on.ranks; ++r) {
    sent.add(on.tokens(on.rank) * on.heads(r) * on.width, heads_of[r].first * x.seq() * on.width);
    received.add(on.tokens(r) * on.heads(on.rank) * on.width);
  }
  std::vector<float> arrived(received.all);
  exchange(x.data(), sent, arrived.data(), received, comm);
  for (int r = 0; r < on.ranks; ++r) {
    const HeadsView<const float> part(arrived.data() + received.offsets[r], y.heads(), on.tokens(r),
                                      on.width);
    for (Index head = 0; head < y.heads(); ++head) {
      for (Index row = 0; row < part.seq(); ++row)
        std::ranges::copy(part.head(head).row(row), y.head(head).row(positions[r][row]).begin());
    }
  }
}

void heads_to_tokens(HeadsView<const float> y, std::span<const HeadRange> heads_of,
                     std::span<const Positions> positions, HeadsView<float> x, MPI_Comm comm) {
  const Exchange on(x, y, heads_of, positions, comm);
  Parts sent, received;
  for (int r = 0; r < on.ranks; ++r) {
    sent.add(on.tokens(r) * on.heads(on.rank) * on.width);
    received.add(on.tokens(on.rank) * on.heads(r) * on.width);
  }
  std::vector<float> packed(sent.all), arrived(received.all);
  for (int r = 0; r < on.ranks; ++r) {
    const HeadsView<float> part(packed.data() + sent.offsets[r], y.heads(), on.tokens(r), on.width);
    for (Index head = 0; head < y.heads(); ++head) {
      for (Index row = 0; row < part.seq(); ++row)
        std::ranges::copy(y.head(head).row(positions[r][row]), part.head(head).row(row).begin());
    }
  }
  exchange(packed.data(), sent, arrived.data(), received, comm);
  std::fill_n(x.data(), x.size(), 0.0f);
  for (int r = 0; r < on.ranks; ++r) {
    float* const to = x.data() + heads_of[r].first * x.seq() * on.width;
    for (Index i = 0; i < received.counts[r]; ++i) to[i] += arrived[received.offsets[r] + i];
  }
}

namespace {

/// This rank's share, and the ranges of all ranks for both exchanges.
struct Shares {
  Shares(Index heads, Index kv_heads, MPI_Comm comm) : group(0), own{} {
    int ranks = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int r = 0; r < ranks; ++r) {
      const HeadShare share = head_share(heads, kv_heads, ranks, r);
      queries.push_back({share.first, share.last});
      keys.push_back({share.kv_first, share.kv_last});
      if (r == rank) own = share;
    }
    group = heads / kv_heads;
  }

  /// The query heads of the share that look at its key head `kv`, counted from the first of the share.
  HeadRange sharing(Index kv) const {
    const Index first = (own.kv_first + kv) * group;
    return {std::max(first, own.first) - own.first, std::min(first + group, own.last) - own.first};
  }

  Index group;
  HeadShare own;
  int rank = 0;
  std::vector<HeadRange> queries, keys;
};

Index all_tokens(std::span<const Positions> positions) {
  Index all = 0;
  for (const Positions& owned : positions) all += std::ssize(owned);
  return all;
}

/// All tokens are there, in the order of the sequence: a row is a position.
std::vector<course::KeyRange> rows_seen(Index tokens, bool causal) {
  std::vector<course::KeyRange> seen;
  for (Index row = 0; row < tokens; ++row) seen.push_back({0, causal ? row + 1 : tokens});
  return seen;
}

/// Some heads of a tensor without gaps.
template <class T>
HeadsView<T> some(HeadsView<T> x, const HeadRange& heads) {
  return {x.data() + heads.first * x.seq() * x.head_dim(), count_of(heads), x.seq(), x.head_dim()};
}

/// A tensor of one number a token as a view.
template <class T>
HeadsView<T> as_heads(MatrixView<T> x) {
  return {x.data(), x.rows(), x.cols(), 1};
}

}  // namespace

HeadShard ulysses_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                            bool causal, const course::BlockForward& block, MPI_Comm comm) {
  const Shares shares(q.heads(), k.heads(), comm);
  const Index n = all_tokens(positions), width = q.head_dim();
  const Index own = query_heads(shares.own), own_kv = key_heads(shares.own);
  HeadShard kept;
  const auto room = [n](std::vector<float>& of, Index heads, Index columns) {
    of.resize(heads * n * columns);
    return HeadsView<float>(of.data(), heads, n, columns);
  };
  const HeadsView<float> all_q = room(kept.q, own, width), all_k = room(kept.k, own_kv, width),
                         all_v = room(kept.v, own_kv, width);
  tokens_to_heads(q, shares.queries, positions, all_q, comm);
  tokens_to_heads(k, shares.keys, positions, all_k, comm);
  tokens_to_heads(v, shares.keys, positions, all_v, comm);

  const HeadsView<float> all_o = room(kept.o, own, width), all_lse = room(kept.lse, own, 1);
  const float scale = 1.0f / std::sqrt(static_cast<float>(width));
  const std::vector<course::KeyRange> seen = rows_seen(n, causal);
  for (Index kv = 0; kv < own_kv; ++kv) {
    const HeadRange heads = shares.sharing(kv), one{kv, kv + 1};
    course::AttentionState state(count_of(heads), n, width);
    block.accumulate({some<const float>(all_q, heads), some<const float>(all_k, one),
                      some<const float>(all_v, one), shares.rank, scale, seen},
                     state);
    block.finish(state, some(all_o, heads), {all_lse.data() + heads.first * n, count_of(heads), n});
  }
  heads_to_tokens(all_o, shares.queries, positions, o, comm);
  heads_to_tokens(all_lse, shares.queries, positions, as_heads(lse), comm);
  return kept;
}

namespace {

/// delta_i = o_i . d_o_i, a number a head and token.
std::vector<float> row_delta(HeadsView<const float> o, HeadsView<const float> d_o) {
  std::vector<float> delta(o.heads() * o.seq(), 0.0f);
  for (Index i = 0; i < o.size(); ++i) delta[i / o.head_dim()] += o.data()[i] * d_o.data()[i];
  return delta;
}

}  // namespace

void ulysses_backward(const HeadShard& kept, HeadsView<const float> d_o, HeadsView<float> dq,
                      HeadsView<float> dk, HeadsView<float> dv, std::span<const Positions> positions,
                      bool causal, const course::BlockBackward& block, MPI_Comm comm) {
  const Shares shares(dq.heads(), dk.heads(), comm);
  const Index n = all_tokens(positions), width = dq.head_dim();
  const Index own = query_heads(shares.own), own_kv = key_heads(shares.own);
  const auto of_queries = [&](const std::vector<float>& x) {
    return HeadsView<const float>(x.data(), own, n, width);
  };
  const auto of_keys = [&](const std::vector<float>& x) {
    return HeadsView<const float>(x.data(), own_kv, n, width);
  };
  std::vector<float> d_o_room(own * n * width);
  const HeadsView<float> all_d_o(d_o_room.data(), own, n, width);
  tokens_to_heads(d_o, shares.queries, positions, all_d_o, comm);

  const std::vector<float> delta = row_delta(of_queries(kept.o), all_d_o);
  std::vector<float> dq_room(own * n * width, 0.0f), dk_room(own_kv * n * width, 0.0f), dv_room(dk_room);
  const HeadsView<float> all_dq(dq_room.data(), own, n, width), all_dk(dk_room.data(), own_kv, n, width),
      all_dv(dv_room.data(), own_kv, n, width);
  const float scale = 1.0f / std::sqrt(static_cast<float>(width));
  const std::vector<course::KeyRange> seen = rows_seen(n, causal);
  for (Index kv = 0; kv < own_kv; ++kv) {
    const HeadRange heads = shares.sharing(kv), one{kv, kv + 1};
    const auto rows_of = [&](const std::vector<float>& x) {
      return MatrixView<const float>(x.data() + heads.first * n, count_of(heads), n);
    };
    block.accumulate({some(of_queries(kept.q), heads), some(of_keys(kept.k), one), some(of_keys(kept.v), one),
                      shares.rank, scale, seen},
                     some<const float>(all_d_o, heads), rows_of(kept.lse), rows_of(delta),
                     some(all_dq, heads), some(all_dk, one), some(all_dv, one));
  }
  heads_to_tokens(all_dq, shares.queries, positions, dq, comm);
  heads_to_tokens(all_dk, shares.keys, positions, dk, comm);
  heads_to_tokens(all_dv, shares.keys, positions, dv, comm);
}

}  // namespace lesson17
