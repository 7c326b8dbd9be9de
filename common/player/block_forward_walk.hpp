#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "player/adapter.hpp"

namespace course {

/// Hands keys to `see` in parts of at most so many, by the first of each part and its length; once, and none,
/// where there are none.
template <class See>
void in_parts(Index keys, Index at_most, See see) {
  Index first = 0;
  do {
    see(first, std::min(at_most, keys - first));
    first += at_most;
  } while (first < keys);
}

/// What a head's sums stand for, which the contract says: o / l, or zeros of a query that saw no key, and
/// m + log l. `sums` may be `o`.
inline void finish_head(std::span<const float> m, std::span<const float> l, MatrixView<const float> sums,
                        MatrixView<float> o, std::span<float> lse) {
  for (Index i = 0; i < o.rows(); ++i) {
    const float whole = l[i] == 0.0f ? 1.0f : l[i];
    lse[i] = m[i] + std::log(l[i]);
    std::ranges::transform(sums.row(i), o.row(i).begin(), [whole](float sum) { return sum / whole; });
  }
}

/// BlockForward::finish.
inline void finish_state(AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
  for (Index head = 0; head < o.heads(); ++head)
    finish_head(state.m().row(head), state.l().row(head), state.o().head(head), o.head(head), lse.row(head));
}

/// The outputs o and lse of a state that has seen all there is to see.
inline void write_state(Call& call, AttentionState& state) {
  const HeadsView<float> sums = state.o();
  finish_state(state, call.output("o", {sums.heads(), sums.seq(), sums.head_dim()}).heads(),
               call.output("lse", {sums.heads(), sums.seq()}).matrix());
}

/// Walks a block of a ring head by head, a part of its keys at a time: see(head of q, head of k and v, first
/// key, keys). Between parts a ring that hides its transfers is told.
template <class See>
void walk_request(const BlockRequest& request, Index keys_at_once, See see) {
  const Index group = request.q.heads() / std::max<Index>(1, request.k.heads());
  for (Index head = 0; head < request.q.heads(); ++head) {
    in_parts(request.k.seq(), keys_at_once, [&](Index first, Index keys) {
      see(head, head / group, first, keys);
      if (request.between_tiles) request.between_tiles();
    });
  }
}

/// BlockForward::accumulate by a student's attend_block(q, k, v, m, l, o) of one head.
template <class AttendBlock>
void accumulate_by_head(const BlockRequest& request, AttentionState& state, Index keys_at_once,
                        AttendBlock attend_block) {
  walk_request(request, keys_at_once, [&](Index head, Index kv, Index first, Index keys) {
    attend_block(request.q.head(head), request.k.head(kv).rows(first, keys),
                 request.v.head(kv).rows(first, keys), state.m().row(head), state.l().row(head),
                 state.o().head(head));
  });
}

/// The same attend_block on a case's q, k and v, in parts of the argument block; `after_head` is called with
/// a head's m, l and o, and with a function that sees one more part of the keys, before they are divided.
template <class AttendBlock, class AfterHead>
void walk_block_forward(Call& call, AttendBlock attend_block, AfterHead after_head) {
  const HeadsView<const float> q = call.input("q").heads(), k = call.input("k").heads(),
                               v = call.input("v").heads();
  Tensor& o = call.output("o", call.input("q").shape());
  Tensor& lse = call.output("lse", {q.heads(), q.seq()});
  std::ranges::fill(o.values(), 0.0f);
  for (Index head = 0; head < q.heads(); ++head) {
    std::vector<float> m(q.seq(), -std::numeric_limits<float>::infinity()), l(q.seq(), 0.0f);
    const MatrixView<float> sums = o.heads().head(head);
    const auto see = [&](Index first, Index keys) {
      attend_block(q.head(head), k.head(head).rows(first, keys), v.head(head).rows(first, keys), m, l, sums);
    };
    in_parts(k.seq(), call.integer("block"), see);
    after_head(see, m, l, o);
    finish_head(m, l, sums, sums, lse.matrix().row(head));
  }
}

}  // namespace course
