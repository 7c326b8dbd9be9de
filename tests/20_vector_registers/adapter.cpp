#include <algorithm>
#include <limits>

#include "player/block_backward_walk.hpp"
#include "player/block_forward_walk.hpp"
#include "player/refusal.hpp"
#include "vector_registers.hpp"

namespace lesson20 {

// Both under a mask, where query i sees the keys from first[i] on and before last[i]. The solution has them;
// where an answer has none they are null, and the player cuts a mask into blocks that all queries see and
// into pairs.
[[gnu::weak]] void attend_masked_block(MatrixView<const float> q, MatrixView<const float> k,
                                       MatrixView<const float> v, std::span<const Index> first,
                                       std::span<const Index> last, std::span<float> m, std::span<float> l,
                                       MatrixView<float> o);
[[gnu::weak]] void masked_block_backward(MatrixView<const float> q, MatrixView<const float> k,
                                         MatrixView<const float> v, MatrixView<const float> d_o,
                                         std::span<const float> lse, std::span<const float> delta,
                                         std::span<const Index> first, std::span<const Index> last,
                                         MatrixView<float> dq, MatrixView<float> dk, MatrixView<float> dv);

}  // namespace lesson20

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

/// What the queries see of `keys` keys from first_key on, counted from there.
struct Seen {
  Seen(std::span<const course::KeyRange> seen, Index first_key, Index keys) {
    for (const course::KeyRange& range : seen) {
      first.push_back(std::clamp<Index>(range.first - first_key, 0, keys));
      last.push_back(std::clamp<Index>(range.last - first_key, 0, keys));
    }
  }
  std::vector<Index> first, last;
};

void accumulate(const course::BlockRequest& request, course::AttentionState& state) {
  if (!request.seen) return course::accumulate_by_head(request, state, keys_at_once, lesson20::attend_block);
  course::walk_request(request, keys_at_once, [&](Index head, Index kv, Index first, Index keys) {
    const Seen seen(*request.seen, first, keys);
    lesson20::attend_masked_block(request.q.head(head), request.k.head(kv).rows(first, keys),
                                  request.v.head(kv).rows(first, keys), seen.first, seen.last,
                                  state.m().row(head), state.l().row(head), state.o().head(head));
  });
}

void accumulate_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                         MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                         HeadsView<float> dk, HeadsView<float> dv) {
  course::walk_request(request, keys_at_once, [&](Index head, Index kv, Index first, Index keys) {
    const MatrixView<const float> q = request.q.head(head), k = request.k.head(kv).rows(first, keys),
                                  v = request.v.head(kv).rows(first, keys);
    const MatrixView<float> to_k = dk.head(kv).rows(first, keys), to_v = dv.head(kv).rows(first, keys);
    const std::vector<Index> all(static_cast<std::size_t>(request.q.seq()), keys);
    if (!request.seen)
      return lesson20::block_backward(q, k, v, d_o.head(head), lse.row(head), delta.row(head), all,
                                      dq.head(head), to_k, to_v);
    const Seen seen(*request.seen, first, keys);
    lesson20::masked_block_backward(q, k, v, d_o.head(head), lse.row(head), delta.row(head), seen.first,
                                    seen.last, dq.head(head), to_k, to_v);
  });
}

}  // namespace

const course::LessonBlocks& course_blocks() {
  // A weak function's address is null where it is not defined.
  static const course::LessonBlocks blocks{{accumulate, course::finish_state},
                                           {accumulate_backward},
                                           lesson20::attend_masked_block != nullptr,
                                           lesson20::masked_block_backward != nullptr};
  return blocks;
}

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"powers_of_two", powers_of_two},
                                       {"score_tile", score_tile},
                                       {"attend_block", attend_block},
                                       {"block_backward", block_backward}};
  return adapter;
}
