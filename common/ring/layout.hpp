#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.hpp"

namespace course {

/// The layouts that options take by name.
inline constexpr const char* layout_names[] = {"contiguous", "striped", "zigzag"};

/// Where a position lies: in whose shard, and as which of its rows.
struct Place {
  int rank;
  Index row;
};

/// Which of the positions 0 .. tokens() - 1 of a sequence each rank owns: any ascending list, which may be
/// empty, and every position on one rank. A rank's shard of a tensor has these rows, in this order.
class Layout {
 public:
  /// No rank and no position: of a lesson on one rank.
  Layout() = default;
  /// Contiguous shards of these lengths, which most lessons have: so a list of lengths converts. Throws
  /// std::invalid_argument with the rank whose length is negative.
  Layout(const std::vector<int>& shard_tokens);
  /// Position t belongs to rank t mod `ranks`. Throws std::invalid_argument for ranks < 1 or tokens < 0.
  /// Source: Brandon et al. 2023 (Striped Attention).
  static Layout striped(int tokens, int ranks);
  /// 2P contiguous chunks of these lengths, of which rank r owns the r-th and the r-th from the end:
  /// even_shards(tokens, 2 * ranks) makes them as equal as can be. Throws std::invalid_argument for an odd
  /// number of chunks and for a negative length. Source: the Megatron-Core context-parallelism guide.
  static Layout zigzag(const std::vector<int>& chunk_tokens);
  /// Every document cut as zigzag cuts a row, and what lies behind the last one as one more document, with a
  /// rank's chunks of all of them in the order of the row. Document d has the positions starts[d] ..
  /// starts[d + 1] - 1. Throws std::invalid_argument where starts do not begin with 0, fall, or end beyond
  /// the row, and for numbers as striped() does. Source: Transformer Engine's thd format.
  static Layout documents(const std::vector<Index>& starts, int tokens, int ranks);
  /// One of layout_names, of shards or chunks as equal as can be. Throws std::invalid_argument for another
  /// name, and for numbers as striped() does.
  static Layout named(const std::string& name, int tokens, int ranks);
  /// These lists, by rank. Throws std::invalid_argument with the position and the rank where one is
  /// missing, owned twice or not above the one before it.
  static Layout of(std::vector<std::vector<Index>> positions);

  int ranks() const { return static_cast<int>(positions_.size()); }
  int tokens() const { return static_cast<int>(places_.size()); }
  int tokens(int rank) const { return static_cast<int>(positions(rank).size()); }
  /// tokens(rank), by rank.
  std::vector<int> shard_tokens() const;
  const std::vector<Index>& positions(int rank) const { return positions_.at(rank); }
  /// Throws std::out_of_range with a position that is not there.
  Place place(Index position) const;

  /// A rank's shard of a tensor whose `axis` counts positions.
  template <class T>
  TensorOf<T> shard(const TensorOf<T>& whole, Index axis, int rank) const {
    return take(whole, axis, positions(rank));
  }
  /// The whole tensor, from the ranks' shards joined in the order of ranks.
  template <class T>
  TensorOf<T> in_order(const TensorOf<T>& by_rank, Index axis) const {
    return take(by_rank, axis, order_by_rank());
  }
  /// The whole tensor, from the ranks' shards.
  template <class T>
  TensorOf<T> join(const std::vector<TensorOf<T>>& shards, Index axis) const {
    return in_order(concatenate(shards, axis), axis);
  }

 private:
  /// Of each position: its row when all shards lie one after another.
  std::vector<Index> order_by_rank() const;

  std::vector<std::vector<Index>> positions_;  ///< by rank
  std::vector<Place> places_;                  ///< by position
};

}  // namespace course
