#include "judge/attention/block/block_backward_steps.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

#include "judge/attention/backward.hpp"
#include "judge/attention/block/tile_ranges.hpp"
#include "judge/attention/forward.hpp"

namespace course::block_backward {

namespace {

using reference::KeyRange;

/// D of a row: the sum of the products of two rows, o and d_o or p and dp.
template <class T>
T row_delta(Delta how, std::span<const T> a, std::span<const T> b) {
  if (how == Delta::LeftOut) return 0;
  if (how == Delta::FirstColumn && !a.empty()) return a[0] * b[0];
  if (how == Delta::Unweighted) return std::accumulate(b.begin(), b.end(), T{0});
  const T sum = dot<T>(a, b);
  if (how == Delta::Added) return -sum;
  return how == Delta::Mean ? sum / static_cast<T>(a.size()) : sum;
}

template <class T>
T score_gradient(const Steps& steps, T p, T dp, T delta, T d_lse) {
  const T share = steps.diagonal ? (1 - p) * dp : dp - delta;
  const T gradient_of_lse = static_cast<T>(steps.d_lse) * d_lse;
  return steps.d_lse_outside ? p * share + gradient_of_lse : p * (share + gradient_of_lse);
}

/// Query i of one head.
template <class T>
struct Query {
  const Steps& steps;
  const DenseHead<T>& head;
  Index i;
  KeyRange seen;
  T d_lse;
  Index block_size;

  bool sees(Index j) const { return seen.first <= j && j < seen.last; }
  bool is_masked() const { return seen.first == seen.last; }

  /// The largest score of these keys that it sees.
  T maximum(KeyRange keys) const {
    T largest = -std::numeric_limits<T>::infinity();
    for (Index j = keys.first; j < keys.last; ++j) {
      if (sees(j)) largest = std::max(largest, head.s(i, j));
    }
    return largest;
  }

  T subtracted_from_scores(KeyRange block) const {
    if (steps.weights == Weights::BlockMaximum) return maximum(block);
    if (steps.weights == Weights::RowMaximum) return maximum({0, head.k.rows()});
    const bool makes_nan = steps.weights == Weights::NanInMaskedRow && is_masked();
    return makes_nan ? std::numeric_limits<T>::quiet_NaN() : head.lse[i];
  }

  bool has_weight(Index j, KeyRange block) const {
    if (steps.weights == Weights::MaskedRowsToo || steps.weights == Weights::HiddenScoresZero) return true;
    if (steps.weights == Weights::NothingHidden || steps.weights == Weights::HiddenScoresZeroIfNotAll)
      return !is_masked();
    if (steps.weights == Weights::NanInMaskedRow && is_masked()) return true;
    if (steps.weights == Weights::CountedPerBlock) return sees(j - block.first);
    if (steps.weights == Weights::LessBlockNumber)
      return j - block.first + block.first / block_size < seen.last;
    if (steps.weights == Weights::FirstIgnored) return j < seen.last;
    if (steps.weights == Weights::FirstKeyLess) return sees(j) && j > seen.first;
    const Index in_block = std::clamp(seen.last, block.first, block.last);
    if (steps.weights == Weights::OneKeyLess) return sees(j) && j + 1 < in_block;
    if (steps.weights == Weights::OneKeyLessOfAll) return sees(j) && j + 1 < seen.last;
    if (steps.weights == Weights::OneKeyMore) return sees(j) || j == in_block;
    return sees(j) || (steps.weights == Weights::OneKeyMoreOfAll && j == seen.last);
  }

  /// What exp makes of a score.
  T weight(Index j, T subtracted) const {
    const bool zero_if_hidden =
        steps.weights == Weights::HiddenScoresZero || steps.weights == Weights::HiddenScoresZeroIfNotAll;
    if (zero_if_hidden && !sees(j)) return std::exp(-subtracted);
    const T score = head.s(i, j);
    if (steps.weights == Weights::UnscaledScores) return std::exp(score / head.scale - subtracted);
    if (steps.weights == Weights::LseScaled) return std::exp(score - head.scale * subtracted);
    if (steps.weights == Weights::LseNotInBase2) return std::exp(score - std::numbers::ln2_v<T> * subtracted);
    return std::exp(score - subtracted);
  }

  /// In float32, as a student's exp has it.
  T hidden_weight(Index j) const {
    if (!steps.hidden_times_zero || is_masked()) return 0;
    const float weight = std::exp(static_cast<float>(head.s(i, j) - head.lse[i]));
    return std::isinf(weight) ? std::numeric_limits<T>::quiet_NaN() : 0;
  }

  T delta(KeyRange block) const {
    if (steps.delta != Delta::OfBlock && steps.delta != Delta::OfBlockSoftmax)
      return row_delta(steps.delta, head.o.row(i), head.d_o.row(i));
    T dots = 0, weights = 0;
    for (Index j = block.first; j < block.last; ++j) {
      const T p = sees(j) ? std::exp(head.s(i, j) - head.lse[i]) : 0;
      dots += p * head.dp(i, j);
      weights += p;
    }
    if (steps.delta == Delta::OfBlock) return dots;
    return weights > 0 ? dots / weights : 0;
  }
};

/// Keys, or queries, of one block that are worked on together.
struct Tile {
  KeyRange range;
  Index end_of_block;
  bool full;
};

/// The one that a key or query lies in, of `all`.
Tile tile_around(Index token, Index block, Index size, Index all) {
  const Index first = tile_begin(token, block, size), last = std::min(tile_end(token, block, size), all);
  return {{first, last}, std::min(token / block * block + block, all), last - first == size};
}

/// Whether some query of a tile sees some key of another.
bool is_seen(const reference::Mask& mask, const Tile& queries, const Tile& keys) {
  for (Index i = queries.range.first; i < queries.range.last; ++i) {
    const KeyRange seen = mask.keys(i);
    if (std::max(seen.first, keys.range.first) < std::min(seen.last, keys.range.last)) return true;
  }
  return false;
}

/// The next tile of so many tokens, of the same block.
Tile behind(const Tile& tile, Index size) {
  const Index first = tile.range.last, last = std::min(first + size, tile.end_of_block);
  return {{first, last}, tile.end_of_block, last - first == size};
}

/// Whether somebody works on a tile.
using WorkedOn = std::function<bool(const Tile&)>;

/// How often a tile's share is added by a walk that adds its sums after each tile of the block.
double times_added(Tile tile, Index size, const WorkedOn& worked_on) {
  double count = 0;
  for (; tile.range.first < tile.end_of_block; tile = behind(tile, size))
    if (worked_on(tile)) ++count;
  return count;
}

/// Whether a walk comes to a tile that ends at a tile of the block on which nobody works; such tiles at the
/// block's beginning end it if `at_the_first`.
bool is_reached(const Tile& tile, Index block, Index size, bool at_the_first, const WorkedOn& worked_on) {
  const Index begin = tile.range.first / block * block;
  bool begun = at_the_first;
  for (Tile earlier = behind({{begin, begin}, tile.end_of_block, false}, size);
       earlier.range.first < tile.range.first; earlier = behind(earlier, size)) {
    if (begun && !worked_on(earlier)) return false;
    begun |= worked_on(earlier);
  }
  return true;
}

/// How often a tile's share counts in the sums of a walk through the tiles of its block, of `size` tokens
/// each.
double times_counted(Walk walk, const Tile& tile, Index block, Index size, const WorkedOn& worked_on) {
  switch (walk) {
    case Walk::AddsEveryTile:
      return times_added(tile, size, [](const Tile&) { return true; });
    case Walk::AddsEverySeenTile:
      return times_added(tile, size, worked_on);
    case Walk::EndsAtUnseenTile:
      return is_reached(tile, block, size, true, worked_on) ? 1 : 0;
    case Walk::EndsBehindSeenTiles:
      return is_reached(tile, block, size, false, worked_on) ? 1 : 0;
    case Walk::Right:
      break;
  }
  return 1;
}

/// How often the shares of a tile of queries and one of keys count in the gradients.
struct Times {
  double dq = 1, dk_dv = 1;
};

Times times_of(const Steps& steps, const reference::Mask& mask, const Tiling& tiling, const Tile& queries,
               const Tile& keys) {
  const auto seen_by_queries = [&](const Tile& other) { return is_seen(mask, queries, other); };
  const auto sees_keys = [&](const Tile& other) { return is_seen(mask, other, keys); };
  return {times_counted(steps.along_keys, keys, tiling.key_block, tiling.key_tile, seen_by_queries),
          times_counted(steps.along_queries, queries, tiling.query_block, tiling.query_tile, sees_keys)};
}

/// A query and a key.
struct Pair {
  Index i, j;
};

/// The gradients of one head, and whose shares remain in them.
template <class T>
struct Sums {
  MatrixView<T> dq, dk, dv;
  Index first_query, first_key;
  bool exchangeable;  ///< shapes allow p for its transpose

  /// What a query of one tile and the keys of another give, so many times.
  void add(const Query<T>& query, const Tile& queries, const Tile& keys, Times times) const {
    const auto& [steps, head, i, seen, d_lse, block_size] = query;
    const KeyRange block = keys.range;
    const Dropped& dropped = steps.dropped;
    const bool no_dq = (dropped.keys_of_dq && !keys.full) || (dropped.queries_of_dq && !queries.full);
    const bool no_dk_dv =
        (dropped.keys_of_dk_dv && !keys.full) || (dropped.queries_of_dk_dv && !queries.full);
    const T subtracted = query.subtracted_from_scores(block), delta = query.delta(block);
    if (steps.padding_seen && !keys.full && seen.last > keys.end_of_block && zero_score_overflows(query))
      std::ranges::fill(dq.row(i), std::numeric_limits<T>::quiet_NaN());  // an infinite ds times a key of 0
    for (Index j = block.first; j < block.last; ++j) {
      const T p = query.has_weight(j, block) ? query.weight(j, subtracted) : query.hidden_weight(j);
      const T dp = std::pow(head.scale, static_cast<T>(steps.dp_scales)) * head.dp(i, j);
      const T weight = steps.ds_from_scores && p != 0 ? head.s(i, j) : p;
      const T ds = score_gradient(steps, weight, dp, delta, d_lse);
      const T dq_factor =
          static_cast<T>(times.dq) * std::pow(head.scale, static_cast<T>(steps.dq_scales)) * ds;
      const Pair pair{i, j},
          exchanged{queries.range.first + j - block.first, block.first + i - queries.range.first};
      const auto taken_for = [&](bool transposed) { return transposed && exchangeable ? exchanged : pair; };
      const auto is_there = [&](const Pair& one) {
        return one.i < queries.end_of_block && one.j < keys.end_of_block;
      };
      if (const Pair one = taken_for(steps.dq_transposed); j >= first_key && !no_dq && is_there(one))
        add_scaled(dq.row(one.i), dq_factor, steps.dq_from_q ? head.q.row(one.i) : head.k.row(one.j));
      if (i < first_query || no_dk_dv) continue;
      if (const Pair one = taken_for(steps.dv_transposed); is_there(one))
        add_scaled(dv.row(one.j - (steps.dv_in_first_rows ? block.first : 0)),
                   static_cast<T>(times.dk_dv) * dv_factor(query, p, ds), head.d_o.row(one.i));
      const T dk_factor =
          static_cast<T>(times.dk_dv) * std::pow(head.scale, static_cast<T>(steps.dk_scales)) * ds;
      if (const Pair one = taken_for(steps.dk_transposed); is_there(one))
        add_scaled(dk.row(one.j - (steps.dk_in_first_rows ? block.first : 0)), dk_factor,
                   steps.dk_from_k ? head.k.row(one.j) : head.q.row(one.i));
    }
  }

  static bool zero_score_overflows(const Query<T>& query) {
    return std::isinf(std::exp(static_cast<float>(-query.head.lse[query.i])));
  }

  static T dv_factor(const Query<T>& query, T p, T ds) {
    if (query.steps.dv_factor == DvFactor::Weights) return p;
    return query.steps.dv_factor == DvFactor::ScoreGradients ? ds : query.head.scale * ds;
  }
};

/// The first of the tokens whose shares remain.
Index first_kept(bool overwritten, Index tokens, Index block) {
  return overwritten && tokens > 0 ? (tokens - 1) / block * block : 0;
}

}  // namespace

Answer row_gradients(const Steps& steps, const Example& example) {
  const Tensor64 p = input(example, "p"), dp = input(example, "dp"), d_lse = input(example, "d_lse");
  Tensor64 ds(p.shape());
  for (Index i = 0; i < p.extent(0); ++i) {
    const double delta = row_delta<double>(steps.delta, p.matrix().row(i), dp.matrix().row(i));
    for (Index j = 0; j < p.extent(1); ++j)
      ds.matrix()(i, j) = score_gradient(steps, p.matrix()(i, j), dp.matrix()(i, j), delta, d_lse[i]);
  }
  return {{"ds", std::move(ds)}};
}

template <class T>
Answer gradients(const Steps& steps, const Example& example, const reference::Mask& mask) {
  const TensorOf<T> q = input<T>(example, "q"), k = input<T>(example, "k"), v = input<T>(example, "v");
  const TensorOf<T> d_o = input<T>(example, "d_o"), o = input<T>(example, "o");
  const TensorOf<T> lse = input<T>(example, "lse"), d_lse = input<T>(example, "d_lse");
  const Index queries = q.extent(1), keys = k.extent(1);
  const Index block = integer(example, "block"), query_block = integer(example, "query_block");
  const Index query_tile = steps.tile > 0 ? steps.tile : query_block;
  const Index key_tile = steps.tile > 0 ? steps.tile : block;
  const Tiling tiling{query_block, query_tile, block, key_tile};
  const Index refilled = steps.ragged_fill == 0 ? 0 : keys % block;
  const Index first_query = first_kept(steps.dk_dv_overwritten, queries, query_block);
  const Index first_key = first_kept(steps.dq_overwritten, keys, block);
  const bool square = queries == keys && block >= keys && query_block >= queries;
  const TensorOf<T> dk_dv(k.shape(), static_cast<T>(steps.dk_dv_start));
  reference::AttentionGradients<T> all{TensorOf<T>(q.shape(), static_cast<T>(steps.dq_start)), dk_dv, dk_dv};
  for (Index index = 0; index < q.extent(0); ++index) {
    const auto of = [index](auto& tensor) { return tensor.heads().head(index); };
    const T columns = static_cast<T>(steps.root_of_queries ? queries : q.extent(2));
    const DenseHead<T> head{of(q),
                            of(k),
                            of(steps.dp_from_k ? k : v),
                            of(o),
                            of(d_o),
                            lse.matrix().row(index),
                            1 / std::sqrt(columns)};
    const Sums<T> sums{of(all.dq), of(all.dk), of(all.dv), first_query, first_key, square || steps.tile > 0};
    for (Index i = 0; i < queries; ++i) {
      const auto [first, last] = mask.keys(i);
      const KeyRange seen{std::min(first, keys), std::min(last, keys)};
      const Query<T> query{steps, head, i, seen, d_lse.matrix()(index, i), block};
      const Tile queries_of_tile = tile_around(i, query_block, query_tile, queries);
      for (Index key = 0; key < keys;) {
        const Tile keys_of_tile = tile_around(key, block, key_tile, keys);
        sums.add(query, queries_of_tile, keys_of_tile,
                 times_of(steps, mask, tiling, queries_of_tile, keys_of_tile));
        key = keys_of_tile.range.last;
      }
    }
    for (const MatrixView<T>& gradient : {sums.dk, sums.dv})
      std::fill_n(gradient.rows(keys - refilled, refilled).data(), refilled * k.extent(2),
                  static_cast<T>(steps.ragged_fill));
  }
  return as_answer(all);
}

template Answer gradients<float>(const Steps&, const Example&, const reference::Mask&);
template Answer gradients<double>(const Steps&, const Example&, const reference::Mask&);

}  // namespace course::block_backward
