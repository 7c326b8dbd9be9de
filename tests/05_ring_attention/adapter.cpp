#include "player/adapter.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "block_log.hpp"
#include "ring_attention.hpp"

namespace {

using course::AttentionState;
using course::HeadsView;
using course::Index;
using course::MatrixView;

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0.0f;
  for (std::size_t c = 0; c < a.size(); ++c) sum += a[c] * b[c];
  return sum;
}

/// One query sees one key and its value: an online softmax, a score at a time. Plain, so that it gives lesson
/// 04's answer away to nobody.
void see(float score, std::span<const float> value, float& m, float& l, std::span<float> o) {
  const float grown = std::max(m, score);
  const float keep = std::exp(m - grown);
  const float weight = std::exp(score - grown);
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = keep * o[c] + weight * value[c];
  l = keep * l + weight;
  m = grown;
}

void require_fitting(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v) {
  const auto shape = [](HeadsView<const float> x) {
    return course::to_string({x.heads(), x.seq(), x.head_dim()});
  };
  const bool same_heads = q.heads() == k.heads() && k.heads() == v.heads();
  const bool same_dim = q.head_dim() == k.head_dim() && k.head_dim() == v.head_dim();
  if (same_heads && same_dim && k.seq() == v.seq() && k.seq() >= 0) return;
  throw std::invalid_argument("block.accumulate was given q " + shape(q) + ", k " + shape(k) + " and v " +
                              shape(v) +
                              "; heads and head_dim must agree, and k and v must hold equally many tokens");
}

void accumulate(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                AttentionState& state) {
  require_fitting(q, k, v);
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.head_dim()));
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      for (Index j = 0; j < k.seq(); ++j) {
        const float score = scale * dot(q.head(head).row(i), k.head(head).row(j));
        see(score, v.head(head).row(j), state.m()(head, i), state.l()(head, i), state.o().head(head).row(i));
      }
    }
  }
}

void finish(AttentionState& state, HeadsView<float> o, MatrixView<float> lse) {
  for (Index head = 0; head < o.heads(); ++head) {
    for (Index i = 0; i < o.seq(); ++i) {
      const float l = state.l()(head, i);
      lse(head, i) = state.m()(head, i) + std::log(l);
      for (Index c = 0; c < o.head_dim(); ++c) {
        o(head, i, c) = l > 0.0f ? state.o()(head, i, c) / l : 0.0f;
      }
    }
  }
}

course::Tensor to_tensor(const std::vector<block_log::Entry>& entries) {
  std::vector<float> values;
  for (const block_log::Entry& entry : entries) {
    values.insert(values.end(), {entry.owner, entry.keys, entry.k, entry.v});
  }
  return {{static_cast<Index>(entries.size()), block_log::columns}, std::move(values)};
}

void block_owner(course::Call& call) {
  const int world_size = static_cast<int>(call.integer("world_size"));
  const MatrixView<float> owner = call.output("owner", {world_size, world_size}).matrix();
  for (int rank = 0; rank < world_size; ++rank) {
    for (int hop = 0; hop < world_size; ++hop) {
      owner(rank, hop) = static_cast<float>(lesson05::block_owner(rank, hop, world_size));
    }
  }
}

void ring_attention(course::Call& call) {
  std::vector<block_log::Entry> entries;
  const course::BlockAttention block{
      [&](HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v, int owner,
          AttentionState& state) {
        accumulate(q, k, v, state);
        entries.push_back({static_cast<float>(owner), static_cast<float>(k.seq()), block_log::fingerprint(k),
                           block_log::fingerprint(v)});
      },
      finish};
  const course::Tensor& q = call.input("q");
  const HeadsView<float> o = call.output("o", q.shape()).heads();
  const MatrixView<float> lse = call.output("lse", {q.extent(0), q.extent(1)}).matrix();
  lesson05::ring_attention(q.heads(), call.input("k").heads(), call.input("v").heads(), o, lse,
                           call.integers("shard_tokens"), block, call.communicator<MPI_Comm>());
  call.output(block_log::output, {0, block_log::columns}) = to_tensor(entries);
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"block_owner", block_owner}, {"ring_attention", ring_attention}};
  return adapter;
}
