#include <algorithm>
#include <cmath>
#include <limits>

#include "player/block_backward_walk.hpp"
#include "player/refusal.hpp"
#include "vector_registers.hpp"

namespace {

using course::Call;
using course::HeadsView;
using course::Index;
using course::MatrixView;
using course::Tensor;

void powers_of_two(Call& call) {
  const Tensor& x = call.input("x");
  Tensor& y = call.output("y", x.shape());
  course::call_or_refuse(call, [&] { lesson20::powers_of_two(x.values(), y.values()); });
}

/// Tiles of so many vectors: queries are drawn for the widest machine, on a narrower one they are several.
void score_tile(Call& call) {
  const Tensor &k = call.input("k"), &qt = call.input("qt"), &start = call.input("start");
  const Index queries = qt.extent(1);
  Tensor& s = call.output("s", {k.extent(0), queries});
  if (call.is_given("refuses")) {
    return course::call_or_refuse(
        call, [&] { lesson20::score_tile(k.matrix(), qt.matrix(), start.values(), s.matrix()); });
  }
  call.output("refusal", {0});
  const Index most = course::lanes * call.integer("vectors");
  for (Index first = 0; first < queries; first += most) {
    const Tensor columns = slice(qt, 1, first, most);
    Tensor part({k.extent(0), most}, std::numeric_limits<float>::quiet_NaN());
    lesson20::score_tile(k.matrix(), columns.matrix(), std::span(start.values()).subspan(first, most),
                         part.matrix());
    for (Index j = 0; j < k.extent(0); ++j)
      std::ranges::copy(part.matrix().row(j), s.matrix().row(j).subspan(first).begin());
  }
}

/// The student's attend_block, head by head, for parts of the keys.
void see_blocks(Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  Tensor& o = call.output("o", q.shape());
  Tensor& lse = call.output("lse", {q.extent(0), q.extent(1)});
  std::ranges::fill(o.values(), 0.0f);
  for (Index head = 0; head < q.extent(0); ++head) {
    std::vector<float> m(q.extent(1), -std::numeric_limits<float>::infinity()), l(q.extent(1), 0.0f);
    const MatrixView<float> sums = o.heads().head(head);
    const Index block = call.integer("block");
    Index first = 0;
    do {
      const Index keys = std::min(block, k.extent(1) - first);
      lesson20::attend_block(q.heads().head(head), k.heads().head(head).rows(first, keys),
                             v.heads().head(head).rows(first, keys), m, l, sums);
      first += block;
    } while (first < k.extent(1));
    for (Index i = 0; i < sums.rows(); ++i) {
      lse.matrix()(head, i) = m[i] + std::log(l[i]);
      for (float& x : sums.row(i)) x = l[i] == 0.0f ? x : x / l[i];
    }
  }
}

void attend_block(Call& call) {
  course::call_or_refuse(call, [&] { see_blocks(call); });
}

void block_backward(Call& call) {
  course::walk_block_backward(call, lesson20::block_backward);
}

/// A ring's block, whole: packing costs as much for few keys as for many. Where a ring hides a transfer, it
/// is asked for progress between parts.
constexpr Index keys_at_once = 1024;

template <class See>
void in_parts(const course::BlockRequest& request, See see) {
  const Index group = request.q.heads() / std::max<Index>(1, request.k.heads());
  for (Index head = 0; head < request.q.heads(); ++head) {
    for (Index first = 0; first < request.k.seq(); first += keys_at_once) {
      see(head, head / group, first, std::min(keys_at_once, request.k.seq() - first));
      if (request.between_tiles) request.between_tiles();
    }
  }
}

void accumulate(const course::BlockRequest& request, course::AttentionState& state) {
  in_parts(request, [&](Index head, Index kv, Index first, Index keys) {
    lesson20::attend_block(request.q.head(head), request.k.head(kv).rows(first, keys),
                           request.v.head(kv).rows(first, keys), state.m().row(head), state.l().row(head),
                           state.o().head(head));
  });
}

/// A query that saw no key has l = 0 and gets zeros and -inf.
void finish_state(course::AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
  for (Index head = 0; head < o.heads(); ++head) {
    for (Index i = 0; i < o.seq(); ++i) {
      const float l = state.l()(head, i), whole = l == 0.0f ? 1.0f : l;
      lse(head, i) = state.m()(head, i) + std::log(l);
      std::ranges::transform(state.o().head(head).row(i), o.head(head).row(i).begin(),
                             [whole](float sum) { return sum / whole; });
    }
  }
}

void accumulate_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                         MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                         HeadsView<float> dk, HeadsView<float> dv) {
  in_parts(request, [&](Index head, Index kv, Index first, Index keys) {
    const std::vector<Index> visible(static_cast<std::size_t>(request.q.seq()), keys);
    lesson20::block_backward(request.q.head(head), request.k.head(kv).rows(first, keys),
                             request.v.head(kv).rows(first, keys), d_o.head(head), lse.row(head),
                             delta.row(head), visible, dq.head(head), dk.head(kv).rows(first, keys),
                             dv.head(kv).rows(first, keys));
  });
}

}  // namespace

const course::LessonBlocks& course_blocks() {
  static const course::LessonBlocks blocks{{accumulate, finish_state}, {accumulate_backward}};
  return blocks;
}

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"powers_of_two", powers_of_two},
                                       {"score_tile", score_tile},
                                       {"attend_block", attend_block},
                                       {"block_backward", block_backward}};
  return adapter;
}
