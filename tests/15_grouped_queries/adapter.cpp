#include "player/adapter.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "grouped_queries.hpp"

namespace {

using course::HeadsView;
using course::Index;
using course::Tensor;

/// What kv_head says of numbers that do not fit: 1 for an exception that names both, 0 for one that does not,
/// -1 for none.
float refusal_of(int heads, int kv_heads) {
  try {
    lesson15::kv_head(0, heads, kv_heads);
    return -1;
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    const auto names = [&](int number) { return text.find(std::to_string(number)) != std::string::npos; };
    return names(heads) && names(kv_heads) ? 1 : 0;
  }
}

/// The key heads of all query heads, one pair of numbers after another, and what is said of pairs that do not
/// fit.
void kv_heads(course::Call& call) {
  const std::vector<int> heads = call.integers("heads"), kv = call.integers("kv_heads");
  std::vector<float> all, refusals;
  for (std::size_t i = 0; i < heads.size(); ++i) {
    if (kv[i] < 1 || heads[i] % kv[i] != 0) {
      refusals.push_back(refusal_of(heads[i], kv[i]));
      continue;
    }
    for (int head = 0; head < heads[i]; ++head)
      all.push_back(static_cast<float>(lesson15::kv_head(head, heads[i], kv[i])));
  }
  const auto put = [&](const char* name, const std::vector<float>& values) {
    call.output(name, {std::ssize(values)}) = Tensor({std::ssize(values)}, values);
  };
  put("kv_head", all);
  put("refusal", refusals);
}

float scale_of(const course::Call& call, const Tensor& q) {
  return call.is_given("scale") ? static_cast<float>(call.number("scale"))
                                : 1.0f / std::sqrt(static_cast<float>(q.extent(2)));
}

/// Tokens first .. first + count - 1 of every head.
Tensor part(const Tensor& x, Index first, Index count) {
  return slice(x, 1, first, count);
}

/// Calls use(first token, tokens) for blocks of the argument's length; once where there are no tokens.
template <class Use>
void by_block(const course::Call& call, Index tokens, Use use) {
  const Index block = call.integer("block");
  Index first = 0;
  do {
    use(first, std::min(block, tokens - first));
    first += block;
  } while (first < tokens);
}

/// Walks the blocks, and divides.
void attend_grouped(course::Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  const course::Shape shape{q.extent(0), q.extent(1), v.extent(2)};
  course::AttentionState state(shape[0], shape[1], shape[2]);
  by_block(call, k.extent(1), [&](Index first, Index keys) {
    if (first == 0 && keys == k.extent(1)) {  // no copy, whose memory would count
      lesson15::attend_grouped({q.heads(), k.heads(), v.heads(), 0, scale_of(call, q)}, state);
    } else {
      const Tensor block_k = part(k, first, keys), block_v = part(v, first, keys);
      lesson15::attend_grouped({q.heads(), block_k.heads(), block_v.heads(), 0, scale_of(call, q)}, state);
    }
  });
  Tensor& o = call.output("o", shape);
  Tensor& lse = call.output("lse", {shape[0], shape[1]});
  for (Index row = 0; row < lse.size(); ++row) {
    const float l = state.l().data()[row];
    lse[row] = state.m().data()[row] + std::log(l);
    for (Index i = row * shape[2]; i < (row + 1) * shape[2]; ++i)
      o[i] = l == 0.0f ? state.o().data()[i] : state.o().data()[i] / l;
  }
}

void put(const Tensor& block, Tensor& whole, Index first) {
  for (Index head = 0; head < block.extent(0); ++head) {
    for (Index row = 0; row < block.extent(1); ++row)
      std::ranges::copy(block.heads().head(head).row(row), whole.heads().head(head).row(first + row).begin());
  }
}

/// delta_i = o_i . d_o_i, [heads, queries].
Tensor row_delta(const Tensor& o, const Tensor& d_o) {
  Tensor delta({o.extent(0), o.extent(1)});
  for (Index i = 0; i < o.size(); ++i) delta[i / o.extent(2)] += o[i] * d_o[i];
  return delta;
}

/// Walks the blocks; each gradient begins as it was before.
void grouped_backward(course::Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  const Tensor delta = row_delta(call.input("o"), call.input("d_o"));
  Tensor &dq = call.output("dq", q.shape()), &dk = call.output("dk", k.shape()),
         &dv = call.output("dv", v.shape());
  std::ranges::copy(call.input("before_dq").values(), dq.data());
  by_block(call, k.extent(1), [&](Index first, Index keys) {
    const Tensor block_k = part(k, first, keys), block_v = part(v, first, keys);
    Tensor block_dk = part(call.input("before_dk"), first, keys),
           block_dv = part(call.input("before_dv"), first, keys);
    lesson15::grouped_backward({q.heads(), block_k.heads(), block_v.heads(), 0, scale_of(call, q)},
                               call.input("d_o").heads(), call.input("lse").matrix(), delta.matrix(),
                               dq.heads(), block_dk.heads(), block_dv.heads());
    put(block_dk, dk, first);
    put(block_dv, dv, first);
  });
}

void grouped_ring_attention(course::Call& call) {
  const Tensor &q = call.input("q"), &v = call.input("v");
  lesson15::grouped_ring_attention(q.heads(), call.input("k").heads(), v.heads(),
                                   call.output("o", {q.extent(0), q.extent(1), v.extent(2)}).heads(),
                                   call.output("lse", {q.extent(0), q.extent(1)}).matrix(), scale_of(call, q),
                                   call.integers("shard_tokens"), call.blocks().block_forward(),
                                   call.communicator<MPI_Comm>());
}

void grouped_ring_backward(course::Call& call) {
  const Tensor &q = call.input("q"), &k = call.input("k"), &v = call.input("v");
  lesson15::grouped_ring_backward(
      q.heads(), k.heads(), v.heads(), call.input("o").heads(), call.input("lse").matrix(),
      call.input("d_o").heads(), call.output("dq", q.shape()).heads(), call.output("dk", k.shape()).heads(),
      call.output("dv", v.shape()).heads(), scale_of(call, q), call.integers("shard_tokens"),
      call.blocks().block_backward(), call.communicator<MPI_Comm>());
}

void latent_ring_attention(course::Call& call) {
  const Tensor &q = call.input("q_nope"), &value_up = call.input("value_up");
  lesson15::latent_ring_attention(
      q.heads(), call.input("q_rope").heads(), call.input("latent").heads(), call.input("key_up").heads(),
      value_up.heads(), call.output("o", {q.extent(0), q.extent(1), value_up.extent(1)}).heads(),
      call.output("lse", {q.extent(0), q.extent(1)}).matrix(), call.integers("shard_tokens"),
      call.blocks().block_forward(), call.communicator<MPI_Comm>());
}

/// The values are the latent's first columns.
void latent_block_backward(course::Call& call) {
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
