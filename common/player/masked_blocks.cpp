#include "player/masked_blocks.hpp"

#include <algorithm>
#include <limits>
#include <map>

#include "player/plain_attention.hpp"

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
    if (queries <= ragged_queries) return add(first, queries, view.by_any, false);
    cut(first, queries / 2, view.by_any);
    cut(first + queries / 2, queries - queries / 2, view.by_any);
  }

  std::vector<Tile> take() { return std::move(tiles_); }

 private:
  void add(Index first, Index queries, KeyRange keys, bool whole) {
    tiles_.push_back({first, queries, keys.first, length(keys), whole});
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

/// The ranges of a tile's queries, counted from its first key.
std::vector<KeyRange> within(const Tile& tile, std::span<const KeyRange> seen) {
  std::vector<KeyRange> inside;
  for (const KeyRange& range : seen.subspan(tile.first_query, tile.queries))
    inside.push_back(within(tile, range));
  return inside;
}

/// A whole tile is the lesson's, and a ragged one plain. Both take a state of that tile alone: what is copied
/// is little beside the tile's work.
struct Forward {
  const TiledBlockAttention& block;
  HeadsView<const float> q, k, v;
  std::span<const KeyRange> seen;
  int owner;
  AttentionState& state;
  std::map<Index, AttentionState> states = {};  ///< by the number of queries

  void compute(Index head, const Tile& tile) {
    const auto queries = [&](auto x) { return part(x, head, tile.first_query, tile.queries); };
    const auto keys = [&](auto x) { return part(x, head, tile.first_key, tile.keys); };
    AttentionState& own =
        states.try_emplace(tile.queries, Index{1}, tile.queries, q.head_dim()).first->second;
    copy(queries(state.o()), own.o());
    copy(queries(state.m()), own.m());
    copy(queries(state.l()), own.l());
    if (tile.whole) {
      block.accumulate(queries(q), keys(k), keys(v), owner, own, {});
    } else {
      plain::accumulate_seen(queries(q), keys(k), keys(v), within(tile, seen), own);
    }
    copy(own.o(), queries(state.o()));
    copy(own.m(), queries(state.m()));
    copy(own.l(), queries(state.l()));
  }
};

struct Backward {
  const TiledBlockAttentionBackward& block;
  HeadsView<const float> q, k, v, d_o;
  MatrixView<const float> lse, delta;
  std::span<const KeyRange> seen;
  int owner;
  HeadsView<float> dq, dk, dv;

  void compute(Index head, const Tile& tile) {
    const auto queries = [&](auto x) { return part(x, head, tile.first_query, tile.queries); };
    const auto keys = [&](auto x) { return part(x, head, tile.first_key, tile.keys); };
    if (tile.whole) {
      block.accumulate(queries(q), keys(k), keys(v), queries(d_o), queries(lse), queries(delta), owner,
                       queries(dq), keys(dk), keys(dv), {});
    } else {
      plain::accumulate_backward_seen(queries(q), keys(k), keys(v), queries(d_o), queries(lse),
                                      queries(delta), within(tile, seen), queries(dq), keys(dk), keys(dv));
    }
  }
};

template <class Pass>
void compute(Pass pass) {
  const std::vector<Tile> all = tiles(pass.seen, pass.k.seq());
  for (Index head = 0; head < pass.q.heads(); ++head) {
    for (const Tile& tile : all) pass.compute(head, tile);
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
