#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "ring/block_attention.hpp"
#include "ring/grid_parts.hpp"
#include "ring/shards.hpp"

/// The parts of a grid as a player gives them to everybody: made of what goes from whom to whom, token by
/// token, and of blocks that are computed as the player computes them.
namespace course::grid {

inline int rank_in(MPI_Comm comm) {
  int own = 0;
  MPI_Comm_rank(comm, &own);
  return own;
}

/// Throws std::invalid_argument with both numbers.
inline void require_each_rank(const char* part, const char* what, std::size_t given, MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  if (given == static_cast<std::size_t>(ranks)) return;
  throw std::invalid_argument(std::string("parts.") + part + " was given " + std::to_string(given) + " " +
                              what + " on a communicator of " + std::to_string(ranks) + " ranks");
}

/// Throws std::invalid_argument with both numbers.
inline void require_rows(const char* part, const char* what, Index given, Index expected) {
  if (given == expected) return;
  throw std::invalid_argument(std::string("parts.") + part + " was given " + std::to_string(given) + " " +
                              what + ", expected " + std::to_string(expected));
}

/// What every rank has on either side of an exchange of tokens for heads, all by rank.
class Sides {
 public:
  /// x has all heads of this rank's tokens, y all tokens of its heads.
  Sides(const char* part, HeadsView<const float> x, std::span<const KeyRange> heads_of,
        std::span<const Positions> positions, HeadsView<const float> y, MPI_Comm comm)
      : heads_of_(heads_of), width_(x.head_dim()), comm_(comm), own_(rank_in(comm)) {
    require_each_rank(part, "ranges of heads", heads_of.size(), comm);
    require_each_rank(part, "lists of positions", positions.size(), comm);
    std::vector<std::pair<Index, std::pair<std::size_t, std::size_t>>> order;
    for (std::size_t rank = 0; rank < positions.size(); ++rank) {
      rows_.emplace_back(positions[rank].size());
      for (std::size_t row = 0; row < positions[rank].size(); ++row)
        order.push_back({positions[rank][row], {rank, row}});
    }
    const auto own = static_cast<std::size_t>(own_);
    require_rows(part, "rows of x", x.seq(), std::ssize(positions[own]));
    require_rows(part, "rows of y", y.seq(), std::ssize(order));
    require_rows(part, "heads of y", y.heads(), heads_of[own].last - heads_of[own].first);
    std::ranges::sort(order);
    for (std::size_t place = 0; place < order.size(); ++place)
      rows_[order[place].second.first][order[place].second.second] = static_cast<Index>(place);
  }

  /// Of `rank`'s tokens the places in the order of all.
  const std::vector<Index>& rows(std::size_t rank) const { return rows_[rank]; }
  const std::vector<Index>& own_rows() const { return rows_[static_cast<std::size_t>(own_)]; }
  KeyRange heads(std::size_t rank) const { return heads_of_[rank]; }
  std::size_t ranks() const { return rows_.size(); }

  /// Of this rank's tokens and another's heads, how many numbers; and of that one's tokens and these heads.
  std::vector<int> by_heads() const {
    return by_rank([this](std::size_t rank) { return std::ssize(own_rows()) * count(rank); });
  }
  std::vector<int> by_tokens() const {
    return by_rank(
        [this](std::size_t rank) { return std::ssize(rows_[rank]) * count(static_cast<std::size_t>(own_)); });
  }

  std::vector<float> exchange(const std::vector<float>& out, const std::vector<int>& sent,
                              const std::vector<int>& received) const {
    const std::vector<int> from = shard_offsets(sent), to = shard_offsets(received);
    std::vector<float> in(static_cast<std::size_t>(total_tokens(received)));
    MPI_Alltoallv(out.data(), sent.data(), from.data(), MPI_FLOAT, in.data(), received.data(), to.data(),
                  MPI_FLOAT, comm_);
    return in;
  }

 private:
  Index count(std::size_t rank) const { return heads_of_[rank].last - heads_of_[rank].first; }
  template <class Numbers>
  std::vector<int> by_rank(Numbers numbers) const {
    std::vector<int> all;
    for (std::size_t rank = 0; rank < ranks(); ++rank)
      all.push_back(static_cast<int>(numbers(rank) * width_));
    return all;
  }

  std::span<const KeyRange> heads_of_;
  Index width_;
  MPI_Comm comm_;
  int own_;
  std::vector<std::vector<Index>> rows_;
};

inline void tokens_to_heads(HeadsView<const float> x, std::span<const KeyRange> heads_of,
                            std::span<const Positions> positions, HeadsView<float> y, MPI_Comm comm) {
  const Sides sides("tokens_to_heads", x, heads_of, positions, y, comm);
  std::vector<float> out;
  for (std::size_t rank = 0; rank < sides.ranks(); ++rank) {
    for (Index row = 0; row < x.seq(); ++row) {
      for (Index head = sides.heads(rank).first; head < sides.heads(rank).last; ++head)
        out.insert(out.end(), x.head(head).row(row).begin(), x.head(head).row(row).end());
    }
  }
  const std::vector<float> in = sides.exchange(out, sides.by_heads(), sides.by_tokens());
  auto next = in.begin();
  for (std::size_t rank = 0; rank < sides.ranks(); ++rank) {
    for (const Index row : sides.rows(rank)) {
      for (Index head = 0; head < y.heads(); ++head, next += y.head_dim())
        std::copy_n(next, y.head_dim(), y.head(head).row(row).begin());
    }
  }
}

inline void heads_to_tokens(HeadsView<const float> y, std::span<const KeyRange> heads_of,
                            std::span<const Positions> positions, HeadsView<float> x, MPI_Comm comm) {
  const Sides sides("heads_to_tokens", x, heads_of, positions, y, comm);
  std::vector<float> out;
  for (std::size_t rank = 0; rank < sides.ranks(); ++rank) {
    for (const Index row : sides.rows(rank)) {
      for (Index head = 0; head < y.heads(); ++head)
        out.insert(out.end(), y.head(head).row(row).begin(), y.head(head).row(row).end());
    }
  }
  const std::vector<float> in = sides.exchange(out, sides.by_tokens(), sides.by_heads());
  std::fill_n(x.data(), x.size(), 0.0f);
  auto next = in.begin();
  for (std::size_t rank = 0; rank < sides.ranks(); ++rank) {
    for (Index row = 0; row < x.seq(); ++row) {
      for (Index head = sides.heads(rank).first; head < sides.heads(rank).last; ++head) {
        for (float& number : x.head(head).row(row)) number += *next++;
      }
    }
  }
}

/// A tensor of any rank of a ring, which goes to the next in messages as long as what goes.
class Carried {
 public:
  Carried(MPI_Comm comm, std::span<const Positions> positions, HeadsView<const float> first)
      : comm_(comm), positions_(positions), heads_(first.heads()), width_(first.head_dim()) {
    MPI_Comm_size(comm, &ranks_);
    owner_ = rank_ = rank_in(comm);
    here_.assign(first.data(), first.data() + first.size());
  }
  int owner() const { return owner_; }
  HeadsView<float> view() { return {here_.data(), heads_, tokens(owner_), width_}; }

  void move_on() {
    const int coming = (owner_ + ranks_ - 1) % ranks_;
    std::vector<float> there(static_cast<std::size_t>(heads_ * tokens(coming) * width_));
    MPI_Sendrecv(here_.data(), static_cast<int>(here_.size()), MPI_FLOAT, (rank_ + 1) % ranks_, 0,
                 there.data(), static_cast<int>(there.size()), MPI_FLOAT, (rank_ + ranks_ - 1) % ranks_, 0,
                 comm_, MPI_STATUS_IGNORE);
    here_ = std::move(there);
    owner_ = coming;
  }

 private:
  Index tokens(int rank) const { return std::ssize(positions_[static_cast<std::size_t>(rank)]); }

  MPI_Comm comm_;
  std::span<const Positions> positions_;
  Index heads_, width_;
  int ranks_ = 1, rank_ = 0, owner_ = 0;
  std::vector<float> here_;
};

/// Of the queries of one rank which keys of another's they see.
inline std::vector<KeyRange> seen(const Positions& queries, const Positions& keys, bool causal) {
  std::vector<KeyRange> ranges;
  Index visible = 0;
  for (const Index query : queries) {
    while (visible < std::ssize(keys) && (!causal || keys[static_cast<std::size_t>(visible)] <= query))
      ++visible;
    ranges.push_back({0, visible});
  }
  return ranges;
}

/// Calls attend(request) for the blocks of all ranks as they come, with moved() between two of them.
template <class Attend, class Moved>
void go_round(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
              std::span<const Positions> positions, bool causal, MPI_Comm comm, Attend attend, Moved moved) {
  require_each_rank("ring", "lists of positions", positions.size(), comm);
  require_rows("ring", "rows of q", q.seq(), std::ssize(positions[static_cast<std::size_t>(rank_in(comm))]));
  require_rows("ring", "rows of k", k.seq(), q.seq());
  Carried keys(comm, positions, k), values(comm, positions, v);
  const Positions& own = positions[static_cast<std::size_t>(keys.owner())];
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  for (std::size_t left = positions.size(); left > 0; --left) {
    const std::vector<KeyRange> ranges = seen(own, positions[static_cast<std::size_t>(keys.owner())], causal);
    attend(BlockRequest{q, keys.view(), values.view(), keys.owner(), scale, ranges});
    if (left == 1) break;
    keys.move_on();
    values.move_on();
    moved();
  }
}

/// The parts, with blocks computed by these.
inline GridParts parts(const BlockForward& forward, const BlockBackward& backward) {
  GridParts made{head_share, tokens_to_heads, heads_to_tokens, {}, {}};
  made.ring = [forward](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                        HeadsView<float> o, MatrixView<float> lse, std::span<const Positions> positions,
                        bool causal, MPI_Comm comm) {
    AttentionState state(q.heads(), q.seq(), v.head_dim());
    go_round(
        q, k, v, positions, causal, comm,
        [&](const BlockRequest& request) { forward.accumulate(request, state); }, [] {});
    forward.finish(state, o, lse);
  };
  made.ring_backward = [backward](HeadsView<const float> q, HeadsView<const float> k,
                                  HeadsView<const float> v, HeadsView<const float> o,
                                  MatrixView<const float> lse, HeadsView<const float> d_o,
                                  HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                                  std::span<const Positions> positions, bool causal, MPI_Comm comm) {
    std::vector<float> delta;
    for (Index row = 0; row < o.heads() * o.seq(); ++row)
      delta.push_back(std::inner_product(o.data() + row * o.head_dim(), o.data() + (row + 1) * o.head_dim(),
                                         d_o.data() + row * o.head_dim(), 0.0f));
    const std::vector<float> zeros(static_cast<std::size_t>(dk.size()), 0.0f);
    const HeadsView<const float> none(zeros.data(), dk.heads(), dk.seq(), dk.head_dim());
    Carried of_keys(comm, positions, none), of_values(comm, positions, none);
    const auto move = [&] {
      of_keys.move_on();
      of_values.move_on();
    };
    std::fill_n(dq.data(), dq.size(), 0.0f);
    go_round(
        q, k, v, positions, causal, comm,
        [&](const BlockRequest& request) {
          backward.accumulate(request, d_o, lse, {delta.data(), q.heads(), q.seq()}, dq, of_keys.view(),
                              of_values.view());
        },
        move);
    if (positions.size() > 1) move();
    std::copy_n(of_keys.view().data(), dk.size(), dk.data());
    std::copy_n(of_values.view().data(), dv.size(), dv.data());
  };
  return made;
}

}  // namespace course::grid
