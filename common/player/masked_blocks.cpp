#include "player/masked_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "player/plain_attention.hpp"
#include "tensor/exponential.hpp"
#include "tensor/linear_algebra.hpp"

namespace course::masked {

namespace {

Index length(KeyRange range) {
  return std::max<Index>(0, range.last - range.first);
}

KeyRange both(KeyRange a, KeyRange b) {
  return {std::max(a.first, b.first), std::min(a.last, b.last)};
}

/// What several queries see of a window of keys.
struct View {
  KeyRange by_any{std::numeric_limits<Index>::max(), 0};
  KeyRange by_all;

  View(std::span<const KeyRange> seen, KeyRange window) : by_all(window) {
    for (const KeyRange& range : seen) {
      const KeyRange inside = both(range, window);
      by_all = both(by_all, inside);
      if (length(inside) == 0) continue;
      by_any = {std::min(by_any.first, inside.first), std::max(by_any.last, inside.last)};
    }
  }
};

/// The part of `inner` that begins and ends at a multiple of ragged_queries, or where `outer` does: a
/// lesson's own tiles are such multiples, and a key more would be a tile by itself.
KeyRange in_step(KeyRange inner, KeyRange outer) {
  constexpr Index step = ragged_queries;
  if (inner.first != outer.first) inner.first = (inner.first + step - 1) / step * step;
  if (inner.last != outer.last) inner.last = inner.last / step * step;
  return inner;
}

class Cutter {
 public:
  explicit Cutter(std::span<const KeyRange> seen) : seen_(seen) {}

  void cut(Index first, Index queries, KeyRange window) {
    if (queries == 0) return;
    const View view(seen_.subspan(first, queries), window);
    if (length(view.by_any) == 0) return;
    const KeyRange whole = in_step(view.by_all, view.by_any);
    if (whole == view.by_any) return add(first, queries, whole, true);
    if (length(whole) >= std::max(queries, least_whole_keys)) {
      add(first, queries, whole, true);
      cut(first, queries, {view.by_any.first, whole.first});
      return cut(first, queries, {whole.last, view.by_any.last});
    }
    if (queries <= ragged_queries) return add_ragged(first, queries, view.by_any);
    cut(first, queries / 2, view.by_any);
    cut(first + queries / 2, queries - queries / 2, view.by_any);
  }

  std::vector<Tile> take() { return std::move(tiles_); }

 private:
  void add(Index first, Index queries, KeyRange keys, bool whole) {
    tiles_.push_back({first, queries, keys.first, length(keys), whole});
  }
  void add_ragged(Index first, Index queries, KeyRange keys) {
    for (; length(keys) > 0; keys.first += ragged_keys)
      add(first, queries, {keys.first, std::min(keys.first + ragged_keys, keys.last)}, false);
  }

  std::span<const KeyRange> seen_;
  std::vector<Tile> tiles_;
};

/// Rows of one head as a tensor of that head alone.
template <class T>
HeadsView<T> part(HeadsView<T> x, Index head, Index first, Index count) {
  const MatrixView<T> rows = x.head(head).rows(first, count);
  return {rows.data(), 1, rows.rows(), rows.cols()};
}

template <class T>
MatrixView<T> part(MatrixView<T> x, Index head, Index first, Index count) {
  return {x.row(head).subspan(first, count).data(), 1, count};
}

template <class T>
void copy(HeadsView<T> from, HeadsView<float> to) {
  std::copy_n(from.data(), from.size(), to.data());
}

template <class T>
void copy(MatrixView<T> from, MatrixView<float> to) {
  std::copy_n(from.data(), from.size(), to.data());
}

/// What the queries of a tile see of it, counted from its first key.
KeyRange within(const Tile& tile, KeyRange seen) {
  const KeyRange inside = both({seen.first - tile.first_key, seen.last - tile.first_key}, {0, tile.keys});
  return length(inside) == 0 ? KeyRange{0, 0} : inside;
}

/// Zeros for the keys of a row that a query does not see.
void hide_unseen(std::span<float> row, KeyRange seen) {
  std::ranges::fill(row.first(seen.first), 0.0f);
  std::ranges::fill(row.subspan(seen.last), 0.0f);
}

/// The queries of a tile whose scores are all computed, with what it needs of one head.
struct Forward {
  const TiledBlockAttention& block;
  HeadsView<const float> q, k, v;
  std::span<const KeyRange> seen;
  int owner;
  AttentionState& state;
  std::vector<float> room = std::vector<float>(ragged_queries * ragged_keys);
  std::map<Index, AttentionState> states = {};  ///< by the number of queries

  /// The lesson takes a state of that tile alone: what is copied is little beside the tile's work.
  void whole(Index head, const Tile& tile) {
    const auto queries = [&](auto x) { return part(x, head, tile.first_query, tile.queries); };
    const auto keys = [&](auto x) { return part(x, head, tile.first_key, tile.keys); };
    AttentionState& own =
        states.try_emplace(tile.queries, Index{1}, tile.queries, q.head_dim()).first->second;
    copy(queries(state.o()), own.o());
    copy(queries(state.m()), own.m());
    copy(queries(state.l()), own.l());
    block.accumulate(queries(q), keys(k), keys(v), owner, own, {});
    copy(own.o(), queries(state.o()));
    copy(own.m(), queries(state.m()));
    copy(own.l(), queries(state.l()));
  }

  void ragged(Index head, const Tile& tile) {
    const MatrixView<float> scores(room.data(), tile.queries, tile.keys);
    const MatrixView<float> o = state.o().head(head).rows(tile.first_query, tile.queries);
    gemm(plain::score_scale(q), q.head(head).rows(tile.first_query, tile.queries),
         transposed(k.head(head).rows(tile.first_key, tile.keys)), 0.0f, scores);
    for (Index i = 0; i < tile.queries; ++i) {
      const KeyRange range = within(tile, seen[tile.first_query + i]);
      const std::span<float> row = scores.row(i);
      hide_unseen(row, range);
      if (length(range) > 0) {
        see(row.subspan(range.first, length(range)), state.m()(head, tile.first_query + i),
            state.l()(head, tile.first_query + i), o.row(i));
      }
    }
    gemm(1.0f, scores, v.head(head).rows(tile.first_key, tile.keys), 1.0f, o);
  }

  /// Scores become weights, and what the query has seen before is rescaled.
  static void see(std::span<float> scores, float& m, float& l, std::span<float> o) {
    const float grown = std::max(m, maximum(scores));
    const float keep = std::exp(m - grown);
    l = keep * l + exponentiate(scores, grown);
    scal(keep, o);
    m = grown;
  }
};

struct Backward {
  const TiledBlockAttentionBackward& block;
  HeadsView<const float> q, k, v, d_o;
  MatrixView<const float> lse, delta;
  std::span<const KeyRange> seen;
  int owner;
  HeadsView<float> dq, dk, dv;
  std::vector<float> p_room = std::vector<float>(ragged_queries * ragged_keys), ds_room = p_room;

  void whole(Index head, const Tile& tile) {
    const auto queries = [&](auto x) { return part(x, head, tile.first_query, tile.queries); };
    const auto keys = [&](auto x) { return part(x, head, tile.first_key, tile.keys); };
    block.accumulate(queries(q), keys(k), keys(v), queries(d_o), queries(lse), queries(delta), owner,
                     queries(dq), keys(dk), keys(dv), {});
  }

  void ragged(Index head, const Tile& tile) {
    const auto queries = [&](auto x) { return x.head(head).rows(tile.first_query, tile.queries); };
    const auto keys = [&](auto x) { return x.head(head).rows(tile.first_key, tile.keys); };
    const float scale = plain::score_scale(q);
    const MatrixView<float> p(p_room.data(), tile.queries, tile.keys);
    const MatrixView<float> ds(ds_room.data(), tile.queries, tile.keys);
    gemm(scale, queries(q), transposed(keys(k)), 0.0f, p);
    gemm(1.0f, queries(d_o), transposed(keys(v)), 0.0f, ds);  // so far this is dp
    for (Index i = 0; i < tile.queries; ++i) {
      const Index query = tile.first_query + i;
      const bool sees = lse(head, query) != -std::numeric_limits<float>::infinity();
      const KeyRange range = sees ? within(tile, seen[query]) : KeyRange{0, 0};
      hide_unseen(p.row(i), range);
      hide_unseen(ds.row(i), range);
      weigh(p.row(i).subspan(range.first, length(range)), ds.row(i).subspan(range.first, length(range)),
            lse(head, query), delta(head, query));
    }
    gemm(1.0f, transposed(p), queries(d_o), 1.0f, keys(dv));
    gemm(scale, ds, keys(k), 1.0f, queries(dq));
    gemm(scale, transposed(ds), queries(q), 1.0f, keys(dk));
  }

  /// Scores become weights p, and dp becomes ds = p (dp - delta).
  static void weigh(std::span<float> p, std::span<float> ds, float lse, float delta) {
    exponentiate(p, lse);
    for (std::size_t j = 0; j < p.size(); ++j) ds[j] = p[j] * (ds[j] - delta);
  }
};

template <class Pass>
void compute(Pass pass) {
  const std::vector<Tile> all = tiles(pass.seen, pass.k.seq());
  for (Index head = 0; head < pass.q.heads(); ++head) {
    for (const Tile& tile : all) tile.whole ? pass.whole(head, tile) : pass.ragged(head, tile);
  }
}

}  // namespace

std::vector<Tile> tiles(std::span<const KeyRange> seen, Index keys) {
  Cutter cutter(seen);
  cutter.cut(0, std::ssize(seen), {0, keys});
  return cutter.take();
}

void accumulate(const TiledBlockAttention& block, HeadsView<const float> q, HeadsView<const float> k,
                HeadsView<const float> v, std::span<const KeyRange> seen, int owner, AttentionState& state) {
  plain::require_fitting(q, k, v);
  plain::require_ranges(seen, q, k);
  compute(Forward{block, q, k, v, seen, owner, state});
}

void accumulate_backward(const TiledBlockAttentionBackward& block, HeadsView<const float> q,
                         HeadsView<const float> k, HeadsView<const float> v, HeadsView<const float> d_o,
                         MatrixView<const float> lse, MatrixView<const float> delta,
                         std::span<const KeyRange> seen, int owner, HeadsView<float> dq, HeadsView<float> dk,
                         HeadsView<float> dv) {
  plain::require_fitting(q, k, v);
  plain::require_ranges(seen, q, k);
  plain::require_same_shape("d_o", d_o, "q", q);
  plain::require_same_shape("dq", dq, "q", q);
  plain::require_same_shape("dk", dk, "k", k);
  plain::require_same_shape("dv", dv, "v", v);
  plain::require_one_a_query("lse", lse, q);
  plain::require_one_a_query("delta", delta, q);
  compute(Backward{block, q, k, v, d_o, lse, delta, seen, owner, dq, dk, dv});
}

}  // namespace course::masked
