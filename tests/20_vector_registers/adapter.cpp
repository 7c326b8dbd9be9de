#include <algorithm>
#include <limits>

#include "player/block_backward_walk.hpp"
#include "player/block_forward_walk.hpp"
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

void attend_block(Call& call) {
  const auto nothing = [](const auto&...) {};
  course::call_or_refuse(call, [&] { course::walk_block_forward(call, lesson20::attend_block, nothing); });
}

void block_backward(Call& call) {
  course::walk_block_backward(call, lesson20::block_backward);
}

/// A ring's block, whole: packing costs as much for few keys as for many. Where a ring hides a transfer, it
/// is asked for progress between parts.
constexpr Index keys_at_once = 1024;

void accumulate(const course::BlockRequest& request, course::AttentionState& state) {
  course::accumulate_by_head(request, state, keys_at_once, lesson20::attend_block);
}

void accumulate_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                         MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                         HeadsView<float> dk, HeadsView<float> dv) {
  course::walk_request(request, keys_at_once, [&](Index head, Index kv, Index first, Index keys) {
    const std::vector<Index> visible(static_cast<std::size_t>(request.q.seq()), keys);
    lesson20::block_backward(request.q.head(head), request.k.head(kv).rows(first, keys),
                             request.v.head(kv).rows(first, keys), d_o.head(head), lse.row(head),
                             delta.row(head), visible, dq.head(head), dk.head(kv).rows(first, keys),
                             dv.head(kv).rows(first, keys));
  });
}

}  // namespace

const course::LessonBlocks& course_blocks() {
  static const course::LessonBlocks blocks{{accumulate, course::finish_state}, {accumulate_backward}};
  return blocks;
}

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"powers_of_two", powers_of_two},
                                       {"score_tile", score_tile},
                                       {"attend_block", attend_block},
                                       {"block_backward", block_backward}};
  return adapter;
}
