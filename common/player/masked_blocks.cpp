#include "player/masked_blocks.hpp"

#include <algorithm>
#include <cmath>
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
  return {rows.data(), 1, rows.rows(), rows.cols(), rows.row_stride()};
}

template <class T>
MatrixView<T> part(MatrixView<T> x, Index head, Index first, Index count) {
  return {x.row(head).subspan(first, count).data(), 1, count};
}

/// A state's part, of which neither has gaps.
template <class View>
void copy(View from, View to) {
  std::copy_n(from.data(), from.size(), to.data());
}

/// What the queries of a tile see of it, counted from its first key.
KeyRange within(const Tile& tile, KeyRange seen) {
  const KeyRange inside = both({seen.first - tile.first_key, seen.last - tile.first_key}, {0, tile.keys});
  return length(inside) == 0 ? KeyRange{0, 0} : inside;
}

/// A tile of one head as a request of its own.
struct TileRequest {
  const BlockRequest& whole;
  Index head;
  const Tile& tile;
  std::vector<KeyRange> seen = {};

  template <class View>
  View queries(View x) const {
    return part(x, head, tile.first_query, tile.queries);
  }
  template <class View>
  View keys(View x) const {
    return part(x, plain::kv_head(whole, head), tile.first_key, tile.keys);
  }

  BlockRequest make() {
    BlockRequest made{queries(whole.q), keys(whole.k), keys(whole.v), whole.owner, whole.scale};
    made.between_tiles = whole.between_tiles;
    if (tile.whole) return made;
    for (Index i = 0; i < tile.queries; ++i)
      seen.push_back(within(tile, whole.seen_by(tile.first_query + i)));
    made.seen = seen;
    return made;
  }
};

/// Whether a lesson's own code computes such a block where every query sees every key.
bool is_known(const BlockRequest& request) {
  const float scale = 1.0f / std::sqrt(static_cast<float>(request.q.head_dim()));
  return request.bias == nullptr && request.q.head_dim() == request.v.head_dim() &&
         std::abs(request.scale - scale) <= 1e-6f * scale;
}

/// Calls use(tile) for the tiles of each head of a request with ranges.
template <class Use>
void by_tile(const BlockRequest& request, Use use) {
  const std::vector<Tile> all = tiles(*request.seen, request.k.seq());
  for (Index head = 0; head < request.q.heads(); ++head) {
    for (const Tile& tile : all) {
      TileRequest of_tile{request, head, tile};
      use(of_tile);
    }
  }
}

}  // namespace

std::vector<Tile> tiles(std::span<const KeyRange> seen, Index keys) {
  Cutter cutter(seen);
  cutter.cut(0, std::ssize(seen), {0, keys});
  return cutter.take();
}

// A whole tile is the lesson's, and a ragged one plain. Both take a state of that tile alone: what is copied
// is little beside the tile's work.

void accumulate(const LessonBlocks& blocks, const BlockRequest& request, AttentionState& state) {
  const BlockForward& block = blocks.forward;
  if (!is_known(request)) return plain::accumulate(request, state);
  plain::require_fitting(request);
  plain::require_output("a state", state.o(), request.q, request.v);
  if (!request.seen || blocks.forward_knows_masks) return block.accumulate(request, state);
  std::map<Index, AttentionState> states;  // by the number of queries
  by_tile(request, [&](TileRequest& tile) {
    const Index queries = tile.tile.queries;
    AttentionState& own = states.try_emplace(queries, Index{1}, queries, request.v.head_dim()).first->second;
    copy(tile.queries(state.o()), own.o());
    copy(tile.queries(state.m()), own.m());
    copy(tile.queries(state.l()), own.l());
    (tile.tile.whole ? block.accumulate : plain::blocks.forward.accumulate)(tile.make(), own);
    copy(own.o(), tile.queries(state.o()));
    copy(own.m(), tile.queries(state.m()));
    copy(own.l(), tile.queries(state.l()));
  });
}

void accumulate_backward(const LessonBlocks& blocks, const BlockRequest& request, HeadsView<const float> d_o,
                         MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                         HeadsView<float> dk, HeadsView<float> dv) {
  const BlockBackward& block = blocks.backward;
  plain::require_gradients(request, d_o, lse, delta, dq, dk, dv);
  if (!is_known(request)) return plain::accumulate_backward(request, d_o, lse, delta, dq, dk, dv);
  if (!request.seen || blocks.backward_knows_masks)
    return block.accumulate(request, d_o, lse, delta, dq, dk, dv);
  by_tile(request, [&](TileRequest& tile) {
    (tile.tile.whole ? block.accumulate : plain::blocks.backward.accumulate)(
        tile.make(), tile.queries(d_o), tile.queries(lse), tile.queries(delta), tile.queries(dq),
        tile.keys(dk), tile.keys(dv));
  });
}

}  // namespace course::masked
