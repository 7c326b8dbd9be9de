#pragma once

#include <mpi.h>

#include <functional>
#include <span>
#include <vector>

#include "ring/grid_parts.hpp"   // Positions
#include "ring/tensor_grid.hpp"  // ShardAttention
#include "training/model.hpp"

namespace course::training {

/// What a model is made of: lesson 19's layer and loss, and lesson 14's positions and ring. x, y, z, dx, dy,
/// dz [n, hidden], n tokens on this rank, which may be 0; rows follow each other without gaps. Outputs that
/// are "written" hold anything before; gradients of weights are added to what is there. No function keeps
/// anything between calls. None but attention's and loss sends anything.
struct LayerFunctions {
  /// Which tokens of a window each of so many ranks has: every token one rank's. Of any layout.
  std::function<std::vector<Positions>(Index context, int ranks)> positions;
  /// Attention over the ranks of comm, the r-th of which has the tokens positions[r].
  std::function<ShardAttention(std::span<const Positions> positions, MPI_Comm comm)> attention;
  /// y_i = x_i / sqrt(mean(x_i^2) + 1e-5) * gain. y is written.
  std::function<void(MatrixView<const float> x, std::span<const float> gain, MatrixView<float> y)> norm;
  /// dx is written, d_gain [hidden] is added to.
  std::function<void(MatrixView<const float> x, std::span<const float> gain, MatrixView<const float> dy,
                     MatrixView<float> dx, std::span<float> d_gain)>
      norm_backward;
  /// A layer. positions are those of this rank's tokens in the window. z and kept are written; z may not lie
  /// on x. attention.forward is called once on every rank, one without tokens too.
  std::function<void(MatrixView<const float> x, std::span<const Index> positions,
                     const LayerWeights<const float>& weights, const ShardAttention& attention,
                     MatrixView<float> z, const Kept<float>& kept)>
      forward;
  /// Its gradients, from x and kept. dx is written and may not lie on dz; d_weights are this rank's tokens'
  /// share. attention.backward is called once on every rank.
  std::function<void(MatrixView<const float> x, std::span<const Index> positions,
                     const LayerWeights<const float>& weights, const ShardAttention& attention,
                     const Kept<const float>& kept, MatrixView<const float> dz, MatrixView<float> dx,
                     const LayerWeights<float>& d_weights)>
      backward;
  /// Returns the mean of -log softmax(z head^T)[label] over the labels of all ranks of comm, on each; dz is
  /// written, and d_head is this rank's tokens' share. Two numbers are reduced.
  std::function<float(MatrixView<const float> z, std::span<const Index> labels, MatrixView<const float> head,
                      MatrixView<float> dz, MatrixView<float> d_head, MPI_Comm comm)>
      loss;
};

}  // namespace course::training
