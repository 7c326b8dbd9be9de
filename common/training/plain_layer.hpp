#pragma once

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "ring/silu.hpp"
#include "tensor/linear_algebra.hpp"
#include "training/layer_functions.hpp"

/// Lesson 19's layer and loss as a player gives them to everybody: token by token, one sum at a time, with no
/// more memory than a token needs beside what attention is given.
namespace course::training::plain {

/// 1 / sqrt(mean(x^2) + 1e-5).
inline float inverse_size(std::span<const float> x) {
  return 1.0f / std::sqrt(dot(x, x) / static_cast<float>(x.size()) + 1e-5f);
}

inline void norm_row(std::span<const float> x, std::span<const float> gain, std::span<float> y) {
  const float inverse = inverse_size(x);
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * inverse * gain[i];
}

inline void norm_row_backward(std::span<const float> x, std::span<const float> gain,
                              std::span<const float> dy, std::span<float> dx, std::span<float> d_gain) {
  const float inverse = inverse_size(x);
  float along = 0.0f;
  for (std::size_t i = 0; i < x.size(); ++i) along += x[i] * gain[i] * dy[i];
  along *= inverse * inverse / static_cast<float>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    d_gain[i] += dy[i] * x[i] * inverse;
    dx[i] = inverse * (gain[i] * dy[i] - x[i] * along);
  }
}

/// Turns the pairs (i, i + d/2) of a row by turns * position * 10000^(-2i/d).
inline void turn_row(std::span<float> x, Index position, int turns) {
  const std::size_t half = x.size() / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const double angle = turns * static_cast<double>(position) *
                         std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
    const float cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
    const float a = x[i], b = x[i + half];
    x[i] = a * cosine - b * sine;
    x[i + half] = a * sine + b * cosine;
  }
}

/// A number for each head, token and dimension; 0 at first.
class HeadNumbers {
 public:
  HeadNumbers(Index heads, Index tokens, Index width)
      : heads_(heads),
        tokens_(tokens),
        width_(width),
        all_(static_cast<std::size_t>(heads * tokens * width)) {}
  HeadsView<float> view() { return {all_.data(), heads_, tokens_, width_}; }

 private:
  Index heads_, tokens_, width_;
  std::vector<float> all_;
};

/// Row `token` of each head of x is w_h a.
inline void project(std::span<const float> a, HeadsView<const float> w, Index token, HeadsView<float> x) {
  for (Index head = 0; head < w.heads(); ++head)
    for (Index i = 0; i < w.seq(); ++i) x(head, token, i) = dot(w.head(head).row(i), a);
}

/// sum += sum_h x_h w_h of a token.
inline void add_projected(HeadsView<const float> x, HeadsView<const float> w, Index token,
                          std::span<float> sum) {
  for (Index head = 0; head < w.heads(); ++head)
    for (Index i = 0; i < w.seq(); ++i) axpy(x(head, token, i), w.head(head).row(i), sum);
}

/// d_w_h += x_h^T y of a token.
inline void add_outer(HeadsView<const float> x, std::span<const float> y, Index token, HeadsView<float> d_w) {
  for (Index head = 0; head < d_w.heads(); ++head)
    for (Index i = 0; i < d_w.seq(); ++i) axpy(x(head, token, i), y, d_w.head(head).row(i));
}

/// What attention is given of this rank's tokens: queries and keys turned to their positions.
struct AttentionInputs {
  HeadNumbers q, k, v;
};

inline AttentionInputs attention_inputs(MatrixView<const float> x, std::span<const Index> positions,
                                        const LayerWeights<const float>& weights) {
  const HeadNumbers none(weights.wq.heads(), x.rows(), weights.wq.seq());
  AttentionInputs in{none, none, none};
  std::vector<float> normed(static_cast<std::size_t>(x.cols()));
  for (Index token = 0; token < x.rows(); ++token) {
    const Index position = positions[static_cast<std::size_t>(token)];
    norm_row(x.row(token), weights.norm1, normed);
    project(normed, weights.wq, token, in.q.view());
    project(normed, weights.wk, token, in.k.view());
    project(normed, weights.wv, token, in.v.view());
    for (Index head = 0; head < weights.wq.heads(); ++head) {
      turn_row(in.q.view().head(head).row(token), position, 1);
      turn_row(in.k.view().head(head).row(token), position, 1);
    }
  }
  return in;
}

/// What a token has between attention and the layer's end.
struct SecondHalf {
  /// y = x + sum_h o_h wo_h, b = norm(y), u = w_up b.
  SecondHalf(std::span<const float> x, HeadsView<const float> o, Index token,
             const LayerWeights<const float>& weights)
      : y(x.begin(), x.end()), b(x.size()), u(static_cast<std::size_t>(weights.w_up.rows())) {
    add_projected(o, weights.wo, token, y);
    norm_row(y, weights.norm2, b);
    for (std::size_t j = 0; j < u.size(); ++j) u[j] = dot(weights.w_up.row(static_cast<Index>(j)), b);
  }
  std::vector<float> y, b, u;
};

inline void forward(MatrixView<const float> x, std::span<const Index> positions,
                    const LayerWeights<const float>& weights, const ShardAttention& attention,
                    MatrixView<float> z, const Kept<float>& kept) {
  {
    AttentionInputs in = attention_inputs(x, positions, weights);
    attention.forward(in.q.view(), in.k.view(), in.v.view(), kept.o, kept.lse);
  }
  for (Index token = 0; token < x.rows(); ++token) {
    const SecondHalf half(x.row(token), kept.o, token, weights);
    std::ranges::copy(half.y, z.row(token).begin());
    for (std::size_t j = 0; j < half.u.size(); ++j)
      axpy(silu(half.u[j]), weights.w_down.row(static_cast<Index>(j)), z.row(token));
  }
}

inline void backward(MatrixView<const float> x, std::span<const Index> positions,
                     const LayerWeights<const float>& weights, const ShardAttention& attention,
                     const Kept<const float>& kept, MatrixView<const float> dz, MatrixView<float> dx,
                     const LayerWeights<float>& d_weights) {
  const Index heads = weights.wq.heads(), width = weights.wq.seq(), n = x.rows();
  const auto hidden = static_cast<std::size_t>(x.cols());
  const HeadNumbers none(heads, n, width);
  HeadNumbers d_o = none, dq = none, dk = none, dv = none;
  std::vector<float> d_row(hidden), a(hidden);
  for (Index token = 0; token < n; ++token) {  // dx holds dy until attention is done
    const SecondHalf half(x.row(token), kept.o, token, weights);
    std::ranges::fill(d_row, 0.0f);
    for (std::size_t j = 0; j < half.u.size(); ++j) {
      const Index row = static_cast<Index>(j);
      const float du = dot(dz.row(token), weights.w_down.row(row)) * silu_derivative(half.u[j]);
      axpy(silu(half.u[j]), dz.row(token), d_weights.w_down.row(row));
      axpy(du, half.b, d_weights.w_up.row(row));
      axpy(du, weights.w_up.row(row), d_row);
    }
    norm_row_backward(half.y, weights.norm2, d_row, dx.row(token), d_weights.norm2);
    axpy(1.0f, dz.row(token), dx.row(token));
    project(dx.row(token), weights.wo, token, d_o.view());
    add_outer(kept.o, dx.row(token), token, d_weights.wo);
  }
  {
    AttentionInputs in = attention_inputs(x, positions, weights);
    attention.backward(in.q.view(), in.k.view(), in.v.view(), kept.o, kept.lse, d_o.view(), dq.view(),
                       dk.view(), dv.view());
  }
  std::vector<float> before(hidden);
  for (Index token = 0; token < n; ++token) {
    for (Index head = 0; head < heads; ++head) {
      turn_row(dq.view().head(head).row(token), positions[static_cast<std::size_t>(token)], -1);
      turn_row(dk.view().head(head).row(token), positions[static_cast<std::size_t>(token)], -1);
    }
    norm_row(x.row(token), weights.norm1, a);
    add_outer(dq.view(), a, token, d_weights.wq);
    add_outer(dk.view(), a, token, d_weights.wk);
    add_outer(dv.view(), a, token, d_weights.wv);
    std::ranges::fill(d_row, 0.0f);
    add_projected(dq.view(), weights.wq, token, d_row);
    add_projected(dk.view(), weights.wk, token, d_row);
    add_projected(dv.view(), weights.wv, token, d_row);
    norm_row_backward(x.row(token), weights.norm1, d_row, before, d_weights.norm1);
    axpy(1.0f, before, dx.row(token));
  }
}

inline float loss(MatrixView<const float> z, std::span<const Index> labels, MatrixView<const float> head,
                  MatrixView<float> dz, MatrixView<float> d_head, MPI_Comm comm) {
  double counted = static_cast<double>(std::ranges::count_if(labels, [](Index label) { return label >= 0; }));
  MPI_Allreduce(MPI_IN_PLACE, &counted, 1, MPI_DOUBLE, MPI_SUM, comm);
  const double weight = 1.0 / std::max(1.0, counted);
  double sum = 0.0;
  std::vector<float> logits(static_cast<std::size_t>(head.rows()));
  for (Index token = 0; token < z.rows(); ++token) {
    std::ranges::fill(dz.row(token), 0.0f);
    const Index label = labels[static_cast<std::size_t>(token)];
    if (label >= head.rows())
      throw std::invalid_argument("row " + std::to_string(token) + " has label " + std::to_string(label) +
                                  ", of a vocabulary of " + std::to_string(head.rows()));
    if (label < 0) continue;
    for (std::size_t word = 0; word < logits.size(); ++word)
      logits[word] = dot(head.row(static_cast<Index>(word)), z.row(token));
    const float largest = maximum(logits);
    double all = 0.0;
    for (const float logit : logits) all += std::exp(static_cast<double>(logit) - largest);
    sum += std::log(all) + largest - logits[static_cast<std::size_t>(label)];
    for (std::size_t word = 0; word < logits.size(); ++word) {
      const Index row = static_cast<Index>(word);
      const double p = std::exp(static_cast<double>(logits[word]) - largest) / all;
      const float d = static_cast<float>((p - (row == label ? 1.0 : 0.0)) * weight);
      axpy(d, head.row(row), dz.row(token));
      axpy(d, z.row(token), d_head.row(row));
    }
  }
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  return static_cast<float>(sum * weight);
}

}  // namespace course::training::plain

namespace course::training {

/// Lesson 19's layer and loss, on these positions and with this attention.
inline LayerFunctions plain_layer(
    std::function<std::vector<Positions>(Index context, int ranks)> positions,
    std::function<ShardAttention(std::span<const Positions> positions, MPI_Comm comm)> attention) {
  LayerFunctions functions;
  functions.positions = std::move(positions);
  functions.attention = std::move(attention);
  functions.norm = [](MatrixView<const float> x, std::span<const float> gain, MatrixView<float> y) {
    for (Index row = 0; row < x.rows(); ++row) plain::norm_row(x.row(row), gain, y.row(row));
  };
  functions.norm_backward = [](MatrixView<const float> x, std::span<const float> gain,
                               MatrixView<const float> dy, MatrixView<float> dx, std::span<float> d_gain) {
    for (Index row = 0; row < x.rows(); ++row)
      plain::norm_row_backward(x.row(row), gain, dy.row(row), dx.row(row), d_gain);
  };
  functions.forward = plain::forward;
  functions.backward = plain::backward;
  functions.loss = plain::loss;
  return functions;
}

}  // namespace course::training
