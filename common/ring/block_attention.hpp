#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "ring/key_range.hpp"
#include "tensor/view.hpp"

namespace course {

/// What a query shard has seen so far: for each head and query the running maximum m, the running sum
/// l = sum exp(s - m) and the unnormalised output O = sum exp(s - m) v. A new state has seen nothing:
/// m = -inf, l = 0, O = 0. Scores s are scaled: by a BlockRequest's scale, else by 1/sqrt(head_dim).
class AttentionState {
 public:
  AttentionState(Index heads, Index queries, Index value_dim)
      : heads_(heads),
        queries_(queries),
        value_dim_(value_dim),
        o_(heads * queries * value_dim, 0.0f),
        m_(heads * queries, -std::numeric_limits<float>::infinity()),
        l_(heads * queries, 0.0f) {}

  HeadsView<float> o() { return {o_.data(), heads_, queries_, value_dim_}; }  ///< [heads, queries, value_dim]
  MatrixView<float> m() { return {m_.data(), heads_, queries_}; }             ///< [heads, queries]
  MatrixView<float> l() { return {l_.data(), heads_, queries_}; }             ///< [heads, queries]

 private:
  Index heads_;
  Index queries_;
  Index value_dim_;
  std::vector<float> o_;
  std::vector<float> m_;
  std::vector<float> l_;
};

/// What a tiled block computation calls between its tiles, at least once a block: the place to let MPI move
/// the transfers that are under way. A default-constructed one is not called.
using BetweenTiles = std::function<void()>;

/// A bias on the scaled scores that grows with the distance: score of query i and key j, of query head h,
///   - slopes[h] |query_positions[i] - key_positions[j]|.
/// Source: Press et al. 2021 (ALiBi).
struct PositionBias {
  std::span<const float> slopes;           ///< one a query head
  std::span<const Index> query_positions;  ///< one a query
  std::span<const Index> key_positions;    ///< one a key of the block
};

/// One block of keys and values, and the queries that look at it. heads / kv_heads consecutive heads of q
/// share one head of k and v.
struct BlockRequest {
  HeadsView<const float> q;  ///< [heads, queries, key_dim]
  HeadsView<const float> k;  ///< [kv_heads, keys, key_dim]
  HeadsView<const float> v;  ///< [kv_heads, keys, value_dim]
  int owner;                 ///< the rank whose block it is
  float scale;               ///< of q . k
  /// Query i of every head sees the keys (*seen)[i] of the block, counted from its first key. None given:
  /// every query sees all of them.
  std::optional<std::span<const KeyRange>> seen = {};
  const PositionBias* bias = nullptr;  ///< none where null
  BetweenTiles between_tiles = {};

  KeyRange seen_by(Index query) const { return seen ? (*seen)[query] : KeyRange{0, k.seq()}; }
};

/// The block computation that the rings of lessons 15 and on are given.
struct BlockForward {
  /// Lets every query see its keys of one block. A query that sees none keeps its state.
  std::function<void(const BlockRequest& request, AttentionState& state)> accumulate;
  /// Writes o = O / l [heads, queries, value_dim] and lse = m + log l [heads, queries]; a query that saw no
  /// key gets zeros and -inf.
  std::function<void(AttentionState& state, HeadsView<float> o, MatrixView<float> lse)> finish;
};

/// The same for gradients.
struct BlockBackward {
  /// Adds what the queries and one block give to the gradients. d_o [heads, queries, value_dim]; lse, delta
  /// [heads, queries] are of query heads and whole rows, over all blocks: delta_i = o_i . d_o_i; dq, dk, dv
  /// have the shapes of q, k and v. A head of dk and dv takes up what all query heads that share it give. A
  /// query with lse = -inf adds nothing.
  std::function<void(const BlockRequest& request, HeadsView<const float> d_o, MatrixView<const float> lse,
                     MatrixView<const float> delta, HeadsView<float> dq, HeadsView<float> dk,
                     HeadsView<float> dv)>
      accumulate;
};

// Lessons 05 to 14 have a struct each for what their rings need of it.

/// What lesson 04's attend_block does, for all heads: the block computation that a ring is given. The ring
/// decides which block is seen when; what is computed on a block is not the ring's business.
struct BlockAttention {
  /// Lets every query of q see the keys and values of one block, which belongs to rank `owner`.
  /// q [heads, queries, head_dim]; k, v [heads, keys, head_dim]; an empty block changes nothing.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int owner,
                     AttentionState& state)>
      accumulate;
  /// Writes o = O / l [heads, queries, head_dim] and lse = m + log l [heads, queries]; a query that saw no
  /// key gets zeros and -inf.
  std::function<void(AttentionState& state, HeadsView<float> o, MatrixView<float> lse)> finish;
};

/// What lesson 06's block_backward does, for all heads: the gradients that one block of keys and values takes
/// part in, which a backward ring is given.
struct BlockAttentionBackward {
  /// Adds what the queries of q and one block of keys and values, which belongs to rank `owner`, give to the
  /// gradients. q, d_o, dq [heads, queries, head_dim]; k, v, dk, dv [heads, keys, head_dim]; lse, delta
  /// [heads, queries] are those of the whole rows, over all blocks: delta_i = o_i . d_o_i. An empty block and
  /// a query with lse = -inf add nothing.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
                     int owner, HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv)>
      accumulate;
};

/// BlockAttention for a ring whose queries do not see every key.
struct MaskedBlockAttention {
  /// BlockAttention::accumulate, where query i of every head sees the keys seen[i] of the block, counted from
  /// its first key. A query whose range is empty keeps its state; one that has seen nothing yet, too. There
  /// is a range for every query of q, with 0 <= first <= last <= keys, else std::invalid_argument with the
  /// query and its range.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     std::span<const KeyRange> seen, int owner, AttentionState& state)>
      accumulate;
  /// BlockAttention::finish.
  std::function<void(AttentionState& state, HeadsView<float> o, MatrixView<float> lse)> finish;
};

/// BlockAttentionBackward for a ring whose queries do not see every key.
struct MaskedBlockAttentionBackward {
  /// BlockAttentionBackward::accumulate under ranges, as MaskedBlockAttention::accumulate has them. A query
  /// and a key that it does not see add nothing.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
                     std::span<const KeyRange> seen, int owner, HeadsView<float> dq, HeadsView<float> dk,
                     HeadsView<float> dv)>
      accumulate;
};

/// BlockAttention for a ring that hides its transfers: the work on a block comes in tiles.
struct TiledBlockAttention {
  /// BlockAttention::accumulate, with `between_tiles` called meanwhile.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int owner,
                     AttentionState& state, const BetweenTiles& between_tiles)>
      accumulate;
  /// BlockAttention::finish.
  std::function<void(AttentionState& state, HeadsView<float> o, MatrixView<float> lse)> finish;
};

/// BlockAttentionBackward for a ring that hides its transfers: the work on a block comes in tiles.
struct TiledBlockAttentionBackward {
  /// BlockAttentionBackward::accumulate, with `between_tiles` called meanwhile.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<const float> d_o, MatrixView<const float> lse, MatrixView<const float> delta,
                     int owner, HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv,
                     const BetweenTiles& between_tiles)>
      accumulate;
};

}  // namespace course
