#pragma once

#include "reference/mask.hpp"
#include "reference/softmax.hpp"
#include "tensor/tensor.hpp"

/// The answers, written for reading: dense Eigen, every score in memory at once, std::exp throughout (Eigen's
/// vectorised exp(-inf) is a tiny positive number, not 0). T = double is the expected answer that answers are
/// held to; T = float is the same arithmetic in float32, whose error says how much a right float32 answer may
/// be off.
namespace course::reference {

template <class T>
struct Attention {
  TensorOf<T> o;    ///< [heads, queries, value_dim]
  TensorOf<T> lse;  ///< [heads, queries], of the scaled scores
};

/// softmax(q k^T / sqrt(head_dim)) v for q [heads, queries, head_dim], k [kv_heads, keys, head_dim] and
/// v [kv_heads, keys, value_dim]; heads / kv_heads consecutive heads of q share one of k and v; queries and
/// keys may be 0. bias [heads, queries, keys], where one is given, is added to the scaled scores: -inf hides
/// a key. A query that sees no key gets o = 0 and lse = -inf. Throws std::invalid_argument with the shapes
/// when they do not fit. Source: Vaswani et al. 2017, eq. 1.
template <class T>
Attention<T> attention(const TensorOf<T>& q, const TensorOf<T>& k, const TensorOf<T>& v,
                       const Mask& mask = {}, const TensorOf<T>& bias = {});

template <class T>
struct AttentionGradients {
  TensorOf<T> dq, dk, dv;  ///< the shapes of q, k and v
};

/// Gradients of sum(o * d_o) + sum(lse * d_lse) with respect to q, k and v, for d_o [heads, queries,
/// value_dim] and d_lse [heads, queries], which is all zeros where none is given; the second sum is over the
/// queries that see a key. dk and dv of a shared head add up what all heads of q that share it give. A query
/// that sees none has dq = 0 and adds nothing to dk and dv. Throws std::invalid_argument as `attention` does.
/// With P the softmax and D = rowsum(o * d_o): dV = P^T dO, dS = P * (dO V^T - D + d_lse), dQ = dS K /
/// sqrt(d), dK = dS^T Q / sqrt(d). Source: Dao et al. 2022, appendix B; d lse / d S = P.
template <class T>
AttentionGradients<T> attention_gradients(const TensorOf<T>& q, const TensorOf<T>& k, const TensorOf<T>& v,
                                          const TensorOf<T>& d_o, const Mask& mask = {},
                                          const TensorOf<T>& d_lse = {}, const TensorOf<T>& bias = {});

}  // namespace course::reference
