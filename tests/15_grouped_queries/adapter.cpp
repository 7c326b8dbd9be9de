#include <algorithm>
#include <cmath>
#include <vector>

#include "grouped_queries.hpp"
#include "player/block_forward_walk.hpp"
#include "player/refusal.hpp"

namespace {

using course::Call;
using course::HeadsView;
using course::Index;
using course::Tensor;

/// The key heads of all query heads, one pair of numbers after another.
void kv_heads(Call& call) {
  const std::vector<int> heads = call.integers("heads"), kv = call.integers("kv_heads");
  std::vector<float> all;
  course::call_or_refuse(call, [&] {
    for (std::size_t i = 0; i < heads.size(); ++i) {
      for (int head = 0; head < heads[i]; ++head)
        all.push_back(static_cast<float>(lesson15::kv_head(head, heads[i], kv[i])));
    }
  });
  const Index count = call.is_given("refuses") ? 0 : std::ssize(all);
  all.resize(count);
  call.output("kv_head", {count}) = Tensor({count}, all);
}

float scale_of(const Call& call, const Tensor& q) {
  return call.is_given("scale") ? static_cast<float>(call.number("scale"))
                                : 1.0f / std::sqrt(static_cast<float>(q.extent(2)));
}

/// Tokens first .. first + count - 1 of every head.
Tensor part(const Tensor& x, Index first, Index count) {
  return slice(x, 1, first, count);
}

void attend_grouped(Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  course::AttentionState state(q.extent(0), q.extent(1), v.extent(2));
  const auto see = [&](const Tensor& block_k, const Tensor& block_v) {
    lesson15::attend_grouped({q.heads(), block_k.heads(), block_v.heads(), 0, scale_of(call, q)}, state);
  };
  course::in_parts(k.extent(1), call.integer("block"), [&](Index first, Index keys) {
    if (keys == k.extent(1)) return see(k, v);  // no copies, whose memory would count
    see(part(k, first, keys), part(v, first, keys));
  });
  course::write_state(call, state);
}

/// delta_i = o_i . d_o_i, [heads, queries].
Tensor row_delta(const Tensor& o, const Tensor& d_o) {
  Tensor delta({o.extent(0), o.extent(1)});
  for (Index i = 0; i < o.size(); ++i) delta[i / o.extent(2)] += o[i] * d_o[i];
  return delta;
}

/// Each gradient begins as it was before.
void grouped_backward(Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  const Tensor delta = row_delta(call.input("o"), call.input("d_o"));
  Tensor& dq = call.output("dq", q.shape());
  std::ranges::copy(call.input("before_dq").values(), dq.data());
  std::vector<Tensor> dk, dv;
  course::in_parts(k.extent(1), call.integer("block"), [&](Index first, Index keys) {
    const Tensor block_k = part(k, first, keys), block_v = part(v, first, keys);
    dk.push_back(part(call.input("before_dk"), first, keys));
    dv.push_back(part(call.input("before_dv"), first, keys));
    lesson15::grouped_backward({q.heads(), block_k.heads(), block_v.heads(), 0, scale_of(call, q)},
                               call.input("d_o").heads(), call.input("lse").matrix(), delta.matrix(),
                               dq.heads(), dk.back().heads(), dv.back().heads());
  });
  call.output("dk", k.shape()) = concatenate(dk, 1);
  call.output("dv", v.shape()) = concatenate(dv, 1);
}

void grouped_ring_attention(Call& call) {
  const Tensor &q = call.input("q"), &v = call.input("v");
  lesson15::grouped_ring_attention(q.heads(), call.input("k").heads(), v.heads(),
                                   call.output("o", {q.extent(0), q.extent(1), v.extent(2)}).heads(),
                                   call.output("lse", {q.extent(0), q.extent(1)}).matrix(), scale_of(call, q),
                                   call.integers("shard_tokens"), call.blocks().block_forward(),
                                   call.communicator<MPI_Comm>());
}

void grouped_ring_backward(Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  lesson15::grouped_ring_backward(
      q.heads(), k.heads(), v.heads(), call.input("o").heads(), call.input("lse").matrix(),
      call.input("d_o").heads(), call.output("dq", q.shape()).heads(), call.output("dk", k.shape()).heads(),
      call.output("dv", v.shape()).heads(), scale_of(call, q), call.integers("shard_tokens"),
      call.blocks().block_backward(), call.communicator<MPI_Comm>());
}

void latent_ring_attention(Call& call) {
  const Tensor &q = call.input("q_nope"), &value_up = call.input("value_up");
  lesson15::latent_ring_attention(
      q.heads(), call.input("q_rope").heads(), call.input("latent").heads(), call.input("key_up").heads(),
      value_up.heads(), call.output("o", {q.extent(0), q.extent(1), value_up.extent(1)}).heads(),
      call.output("lse", {q.extent(0), q.extent(1)}).matrix(), call.integers("shard_tokens"),
      call.blocks().block_forward(), call.communicator<MPI_Comm>());
}

/// The values are the latent's first columns.
void latent_block_backward(Call& call) {
  const Tensor &q = call.input("q"), &latent = call.input("latent"), &d_o = call.input("d_o");
  const Tensor delta = row_delta(call.input("o"), d_o);
  Tensor &dq = call.output("dq", q.shape()), &d_latent = call.output("d_latent", latent.shape());
  std::ranges::copy(call.input("before_dq").values(), dq.data());
  std::ranges::copy(call.input("before_d_latent").values(), d_latent.data());
  const HeadsView<const float> keys = latent.heads();
  lesson15::latent_block_backward(
      {q.heads(), keys, keys.first_columns(d_o.extent(2)), 0, static_cast<float>(call.number("scale"))},
      d_o.heads(), call.input("lse").matrix(), delta.matrix(), dq.heads(), d_latent.heads(),
      call.blocks().block_backward());
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"kv_heads", kv_heads},
                                       {"attend_grouped", attend_grouped},
                                       {"grouped_backward", grouped_backward},
                                       {"grouped_ring_attention", grouped_ring_attention},
                                       {"grouped_ring_backward", grouped_ring_backward},
                                       {"latent_ring_attention", latent_ring_attention},
                                       {"latent_block_backward", latent_block_backward}};
  return adapter;
}
