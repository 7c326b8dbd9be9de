#pragma once

#include <span>
#include <vector>

#include "tensor/tensor.hpp"

/// A transformer layer and the loss above it on one rank, dense: every score, every activation and every
/// logit in memory at once, one loop a sum. T = double is the expected answer, T = float the same arithmetic
/// in float32. Angles are computed in double for both.
namespace course::reference {

/// The weights of a layer, or their gradients. Columns of wq, wk and wv are inputs, those of wo outputs.
template <class T>
struct LayerWeights {
  TensorOf<T> norm1, norm2;    ///< [hidden]
  TensorOf<T> wq, wk, wv, wo;  ///< [heads, head_dim, hidden]
  TensorOf<T> w_up, w_down;    ///< [ffn, hidden]
};

/// y_i = x_i / r_i * gain, r_i = sqrt(mean(x_i^2) + 1e-5), for x [n, hidden] and gain [hidden].
template <class T>
TensorOf<T> rms_norm(const TensorOf<T>& x, const TensorOf<T>& gain);

template <class T>
struct NormGradients {
  TensorOf<T> dx;      ///< [n, hidden]
  TensorOf<T> d_gain;  ///< [n, hidden]: what each row gives to the gain's gradient
};

/// Of sum(y * dy). With t = gain * dy: dx = t / r - x (x . t) / (hidden r^3). Source: Zhang & Sennrich 2019.
template <class T>
NormGradients<T> rms_norm_gradients(const TensorOf<T>& x, const TensorOf<T>& gain, const TensorOf<T>& dy);

/// x [heads, n, d] whose pairs (i, i + d/2) of row t are turned by turns * positions[t] * 10000^(-2i/d).
/// Source: Su et al. 2021 (RoFormer), eq. 15, with the pairs of GPT-NeoX.
template <class T>
TensorOf<T> rotated(const TensorOf<T>& x, std::span<const Index> positions, int turns);

/// silu(b w_up^T) w_down for b [n, hidden].
template <class T>
TensorOf<T> feed_forward(const TensorOf<T>& b, const TensorOf<T>& w_up, const TensorOf<T>& w_down);

template <class T>
struct FeedForwardGradients {
  TensorOf<T> db;             ///< [n, hidden]
  TensorOf<T> du, activated;  ///< [n, ffn]: d_w_up = du^T b, d_w_down = activated^T dz
};
template <class T>
FeedForwardGradients<T> feed_forward_gradients(const TensorOf<T>& b, const TensorOf<T>& w_up,
                                               const TensorOf<T>& w_down, const TensorOf<T>& dz);

/// The sum over `rows`, or over all where none are given, of a_t^T b_t: [columns of a, columns of b].
template <class T>
TensorOf<T> outer_sum(const TensorOf<T>& a, const TensorOf<T>& b, std::span<const Index> rows);

/// What a layer computes on its way.
template <class T>
struct LayerPass {
  TensorOf<T> a;        ///< [n, hidden], the first norm's
  TensorOf<T> q, k, v;  ///< [heads, n, head_dim], q and k turned
  TensorOf<T> o;        ///< [heads, n, head_dim]
  TensorOf<T> lse;      ///< [heads, n]
  TensorOf<T> y, b, z;  ///< [n, hidden]: after attention, the second norm's, and the result
};

/// z = y + ffn(norm(y)), y = x + sum_h o_h wo_h, o = attention(rotated(a wq^T), rotated(a wk^T), a wv^T), a =
/// norm(x); causal. x [n, hidden]; positions ascend, else std::invalid_argument.
template <class T>
LayerPass<T> layer(const LayerWeights<T>& weights, const TensorOf<T>& x, std::span<const Index> positions);

/// The gradients of sum(z * dz), token by token as far as weights are concerned.
template <class T>
class LayerGradients {
 public:
  LayerGradients(const LayerWeights<T>& weights, const TensorOf<T>& x, std::span<const Index> positions,
                 const TensorOf<T>& dz);
  /// [n, hidden]
  const TensorOf<T>& dx() const { return dx_; }
  /// What these tokens give to the gradients of weights: their share. The sum of all shares is the gradient.
  LayerWeights<T> share(std::span<const Index> rows) const;
  LayerWeights<T> all() const;

 private:
  LayerPass<T> pass_;
  TensorOf<T> dz_, dy_, dx_, d_norm1_, d_norm2_;  ///< [n, hidden], of norms by token
  TensorOf<T> dq_, dk_, dv_;                      ///< [heads, n, head_dim], of what is not turned yet
  FeedForwardGradients<T> feed_forward_;
};

template <class T>
struct Loss {
  T loss;                ///< the mean of -log p(label) over all labels >= 0; 0 if there is none
  TensorOf<T> dz;        ///< [n, hidden], of it
  TensorOf<T> d_logits;  ///< [n, vocabulary], of it: d_w_vocabulary = d_logits^T z
};

/// Logits are z w_vocabulary^T, for z [n, hidden], w_vocabulary [vocabulary, hidden]; labels below 0 have no
/// loss.
template <class T>
Loss<T> next_token_loss(const TensorOf<T>& z, std::span<const Index> labels, const TensorOf<T>& w_vocabulary);

}  // namespace course::reference
