#include "context_parallel_layer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson19 {

using course::transposed;

void rms_norm(MatrixView<const float> x, std::span<const float> gain, MatrixView<float> y) {
  // One number a row, then one product a column.
  throw course::NotImplemented("task 1, rms_norm");
}

void rms_norm_backward(MatrixView<const float> x, std::span<const float> gain, MatrixView<const float> dy,
                       MatrixView<float> dx, std::span<float> d_gain) {
  // r depends on every column of the row.
  throw course::NotImplemented("task 1, rms_norm_backward");
}

void rotate(HeadsView<float> x, std::span<const Index> positions, int turns) {
  // Which number is exact at position 2^30, and which is not?
  throw course::NotImplemented("task 1, rotate");
}

void feed_forward(MatrixView<const float> b, MatrixView<const float> w_up, MatrixView<const float> w_down,
                  Index chunk, MatrixView<float> z) {
  // Which tokens does a row of the activation need?
  throw course::NotImplemented("task 2, feed_forward");
}

void feed_forward_backward(MatrixView<const float> b, MatrixView<const float> w_up,
                           MatrixView<const float> w_down, MatrixView<const float> dz, Index chunk,
                           MatrixView<float> db, MatrixView<float> d_w_up, MatrixView<float> d_w_down) {
  // Two rooms: what lay before the activation, and the gradient that comes to it.
  throw course::NotImplemented("task 2, feed_forward_backward");
}

void layer_forward(MatrixView<const float> x, std::span<const Index> positions,
                   const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
                   MatrixView<float> z, const Kept<float>& kept) {
  // Which of these steps needs another token than its own?
  throw course::NotImplemented("task 3, layer_forward");
}

void layer_backward(MatrixView<const float> x, std::span<const Index> positions,
                    const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
                    const Kept<const float>& kept, MatrixView<const float> dz, MatrixView<float> dx,
                    const LayerWeights<float>& d_weights) {
  // From the end to the beginning. What goes past a norm on its way, and what through it?
  throw course::NotImplemented("task 4, layer_backward");
}

float next_token_loss(MatrixView<const float> z, std::span<const Index> labels,
                      MatrixView<const float> w_vocabulary, Index chunk, MatrixView<float> dz,
                      MatrixView<float> d_w_vocabulary, MPI_Comm context) {
  // A mean of what, over whom? The count is known before the first logit.
  throw course::NotImplemented("task 5, next_token_loss");
}

void sum_over_ranks(std::span<float> gradients, MPI_Comm context) {
  // By what has next_token_loss divided already?
  throw course::NotImplemented("task 5, sum_over_ranks");
}

float gradient_norm(std::span<const float> gradients) {
  // Does a rank need anything that it has not?
  throw course::NotImplemented("task 5, gradient_norm");
}

void tensor_layer_forward(MatrixView<const float> x, std::span<const Index> positions,
                          const LayerWeights<const float>& weights, Index chunk,
                          const ShardAttention& attention, MatrixView<float> z, const Kept<float>& kept,
                          MPI_Comm tensor) {
  // Which sums run over heads, and which over rows of w_down? What is added to them once?
  throw course::NotImplemented("task 6, tensor_layer_forward");
}

void tensor_layer_backward(MatrixView<const float> x, std::span<const Index> positions,
                           const LayerWeights<const float>& weights, Index chunk,
                           const ShardAttention& attention, const Kept<const float>& kept,
                           MatrixView<const float> dz, MatrixView<float> dx,
                           const LayerWeights<float>& d_weights, MPI_Comm tensor) {
  // da and db are sums, too. Over which ranks?
  throw course::NotImplemented("task 6, tensor_layer_backward");
}

}  // namespace lesson19
