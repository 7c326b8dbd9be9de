#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/view.hpp"

/// A byte-level transformer whose weights are one flat piece of memory: one all-reduce sums its gradients,
/// and one file holds it.
namespace course::training {

struct ModelShape {
  Index vocabulary = 256, hidden = 96, heads = 6, layers = 3, ffn = 384;

  Index head_dim() const { return hidden / heads; }
  bool operator==(const ModelShape&) const = default;
};

/// The weights of a layer (T = const float), or their gradients (T = float). Columns of wq, wk and wv are
/// inputs, those of wo outputs: what lesson 19 computes with.
template <class T>
struct LayerWeights {
  std::span<T> norm1, norm2;    ///< [hidden]
  HeadsView<T> wq, wk, wv, wo;  ///< [heads, head_dim, hidden]
  MatrixView<T> w_up, w_down;   ///< [ffn, hidden]
};

/// What a layer's forward pass leaves to the backward pass, besides x: o [heads, n, head_dim], lse [heads,
/// n], n tokens on this rank.
template <class T>
struct Kept {
  HeadsView<T> o;
  MatrixView<T> lse;
};

/// How many numbers a layer has.
inline Index layer_size(const ModelShape& shape) {
  return 2 * shape.hidden + (4 * shape.hidden + 2 * shape.ffn) * shape.hidden;
}

/// How many numbers a model has.
inline Index weight_count(const ModelShape& shape) {
  return 2 * shape.vocabulary * shape.hidden + shape.layers * layer_size(shape) + shape.hidden;
}

/// Names for the parts of a model's weights, or of their gradients, which somebody else owns. They lie in
/// this order: embedding; of each layer norm1, wq, wk, wv, wo, norm2, w_up, w_down; final_norm; head.
template <class T>
class ModelView {
 public:
  /// Throws std::invalid_argument with both lengths unless there are weight_count(shape) numbers, and with
  /// both numbers unless heads divides hidden.
  ModelView(const ModelShape& shape, std::span<T> all) : shape_(shape), all_(all) {
    if (std::ssize(all) != weight_count(shape))
      throw std::invalid_argument(std::to_string(all.size()) + " numbers for a model of " +
                                  std::to_string(weight_count(shape)));
    if (shape.heads < 1 || shape.hidden % shape.heads != 0)
      throw std::invalid_argument(std::to_string(shape.heads) + " heads do not divide hidden " +
                                  std::to_string(shape.hidden));
  }

  const ModelShape& shape() const { return shape_; }
  std::span<T> all() const { return all_; }
  /// [vocabulary, hidden]: row t is what a byte t begins with.
  MatrixView<T> embedding() const { return {all_.data(), shape_.vocabulary, shape_.hidden}; }
  /// Throws std::out_of_range with the number where there is no such layer.
  LayerWeights<T> layer(Index number) const {
    if (number < 0 || number >= shape_.layers)
      throw std::out_of_range("layer " + std::to_string(number) + " of " + std::to_string(shape_.layers));
    T* next = all_.data() + shape_.vocabulary * shape_.hidden + number * layer_size(shape_);
    const auto take = [&next](Index size) {
      T* const part = next;
      next += size;
      return part;
    };
    const auto gain = [&] {
      return std::span<T>(take(shape_.hidden), static_cast<std::size_t>(shape_.hidden));
    };
    const auto heads = [&] {
      return HeadsView<T>(take(shape_.hidden * shape_.hidden), shape_.heads, shape_.head_dim(),
                          shape_.hidden);
    };
    const auto matrix = [&] {
      return MatrixView<T>(take(shape_.ffn * shape_.hidden), shape_.ffn, shape_.hidden);
    };
    const std::span<T> norm1 = gain();
    const HeadsView<T> wq = heads(), wk = heads(), wv = heads(), wo = heads();
    const std::span<T> norm2 = gain();
    const MatrixView<T> w_up = matrix(), w_down = matrix();
    return {norm1, norm2, wq, wk, wv, wo, w_up, w_down};
  }
  /// [hidden], the gain of the norm below the head.
  std::span<T> final_norm() const {
    return all_.subspan(
        static_cast<std::size_t>(shape_.vocabulary * shape_.hidden + shape_.layers * layer_size(shape_)),
        static_cast<std::size_t>(shape_.hidden));
  }
  /// [vocabulary, hidden]: logits are norm(x) head^T.
  MatrixView<T> head() const {
    return {final_norm().data() + shape_.hidden, shape_.vocabulary, shape_.hidden};
  }

 private:
  ModelShape shape_;
  std::span<T> all_;
};

/// The step-th of a sequence of random numbers, which any rank on any machine computes alike, and in any
/// order. Source: Steele, Lea and Flood 2014 (SplitMix).
inline std::uint64_t draw(std::uint64_t seed, Index step) {
  const auto mixed = [](std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return mixed(mixed(seed + 0x9e3779b97f4a7c15u) + static_cast<std::uint64_t>(step) * 0x9e3779b97f4a7c15u);
}

/// Weights to begin with, the same on every rank: the one at place i of the model is drawn from seed and i.
/// Gains are 1, and the head is 0: so the first loss is log(vocabulary), whatever the text.
inline std::vector<float> initial_weights(const ModelShape& shape, std::uint64_t seed) {
  std::vector<float> weights(static_cast<std::size_t>(weight_count(shape)), 0.0f);
  const ModelView<float> model(shape, weights);
  // Four pieces of 16 bits add up to nearly a normal number, by whole numbers alone.
  const auto fill = [&](float* part, Index size, double deviation) {
    for (Index i = 0; i < size; ++i) {
      std::uint64_t bits = draw(seed, part + i - weights.data()), sum = 0;
      for (int piece = 0; piece < 4; ++piece, bits >>= 16) sum += bits & 0xffff;
      part[i] = static_cast<float>(deviation * (static_cast<double>(sum) - 131070.0) / 37837.0);
    }
  };
  fill(model.embedding().data(), model.embedding().size(), 0.5);
  const double inward = 1.0 / std::sqrt(static_cast<double>(shape.hidden)),
               residual = 1.0 / std::sqrt(2.0 * static_cast<double>(shape.layers));
  for (Index number = 0; number < shape.layers; ++number) {
    const LayerWeights<float> layer = model.layer(number);
    for (const std::span<float> gain : {layer.norm1, layer.norm2})
      for (float& value : gain) value = 1.0f;
    for (const HeadsView<float>& matrix : {layer.wq, layer.wk, layer.wv})
      fill(matrix.data(), matrix.size(), inward);
    fill(layer.wo.data(), layer.wo.size(), inward * residual);
    fill(layer.w_up.data(), layer.w_up.size(), inward);
    fill(layer.w_down.data(), layer.w_down.size(), residual / std::sqrt(static_cast<double>(shape.ffn)));
  }
  for (float& value : model.final_norm()) value = 1.0f;
  return weights;
}

/// Of every weight 1 where it decays, and 0 where it does not: matrices of layers decay; gains, the embedding
/// and the head do not.
inline std::vector<std::uint8_t> decaying_weights(const ModelShape& shape) {
  std::vector<std::uint8_t> decays(static_cast<std::size_t>(weight_count(shape)), 0);
  const ModelView<std::uint8_t> model(shape, decays);
  for (Index number = 0; number < shape.layers; ++number) {
    const LayerWeights<std::uint8_t> layer = model.layer(number);
    for (const HeadsView<std::uint8_t>& matrix : {layer.wq, layer.wk, layer.wv, layer.wo})
      for (Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = 1;
    for (const MatrixView<std::uint8_t>& matrix : {layer.w_up, layer.w_down})
      for (Index i = 0; i < matrix.size(); ++i) matrix.data()[i] = 1;
  }
  return decays;
}

}  // namespace course::training
