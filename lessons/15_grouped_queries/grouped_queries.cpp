#include "grouped_queries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson15 {

Index kv_head(Index head, Index heads, Index kv_heads) {
  // How many query heads share a key head? When is there no such number?
  throw course::NotImplemented("task 1, kv_head");
}

void attend_grouped(const course::BlockRequest& request, course::AttentionState& state) {
  // Lesson 04's block, head by head. Which head of k and v? How wide is a row of o?
  throw course::NotImplemented("task 2, attend_grouped");
}

void grouped_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                      MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                      HeadsView<float> dk, HeadsView<float> dv) {
  // Whose lse, whose delta? Who else adds to this row of dk?
  throw course::NotImplemented("task 3, grouped_backward");
}

void grouped_ring_attention(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                            HeadsView<float> o, MatrixView<float> lse, float scale,
                            std::span<const int> shard_tokens, const course::BlockForward& block,
                            MPI_Comm comm) {
  // Two tensors travel. How many heads has each, and how wide are they?
  throw course::NotImplemented("task 4, grouped_ring_attention");
}

void grouped_ring_backward(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                           HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                           HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv, float scale,
                           std::span<const int> shard_tokens, const course::BlockBackward& block,
                           MPI_Comm comm) {
  // Four tensors travel; two of them begin as zeros. How often does each hop?
  throw course::NotImplemented("task 5, grouped_ring_backward");
}

void latent_ring_attention(HeadsView<const float> q_nope, HeadsView<const float> q_rope,
                           HeadsView<const float> latent, HeadsView<const float> key_up,
                           HeadsView<const float> value_up, HeadsView<float> o, MatrixView<float> lse,
                           std::span<const int> shard_tokens, const course::BlockForward& block,
                           MPI_Comm comm) {
  // What is q in the latent's space? Which scale did the heads have before? What travels, how often?
  throw course::NotImplemented("task 6, latent_ring_attention");
}

void latent_block_backward(const course::BlockRequest& request, HeadsView<const float> d_o,
                           MatrixView<const float> lse, MatrixView<const float> delta, HeadsView<float> dq,
                           HeadsView<float> d_latent, const course::BlockBackward& block) {
  // The block gives a dk and a dv. Which columns of d_latent does each belong to?
  throw course::NotImplemented("task 7, latent_block_backward");
}

}  // namespace lesson15
