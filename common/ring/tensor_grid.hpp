#pragma once

#include <mpi.h>

#include <functional>
#include <span>
#include <stdexcept>
#include <string>

#include "tensor/view.hpp"

namespace course {

/// Attention of a layer over sequence shards: lesson 14's ring, or another, bound to its positions and its
/// communicator, whose ranks all call it. q, k, v, o, d_o, dq, dk, dv [heads, n, head_dim], lse [heads, n], n
/// tokens on this rank, which may be 0. Rows follow each other without gaps. Scores are scaled by
/// 1/sqrt(head_dim), and a query sees the keys up to its own position.
struct ShardAttention {
  /// Writes o and lse.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<float> o, MatrixView<float> lse)>
      forward;
  /// Writes the gradients from o, lse and d_o of the same rows. dk and dv are those of this rank's own keys:
  /// they have come home.
  std::function<void(HeadsView<const float> q, HeadsView<const float> k, HeadsView<const float> v,
                     HeadsView<const float> o, MatrixView<const float> lse, HeadsView<const float> d_o,
                     HeadsView<float> dq, HeadsView<float> dk, HeadsView<float> dv)>
      backward;
};

/// The two communicators of a rank of `comm` in a grid of tensor x context: `tensor` consecutive ranks have
/// the same tokens and other heads, and the ranks of a context have the same heads. Freed by the destructor.
class EvenGrid {
 public:
  /// Called by all ranks of comm. Throws std::invalid_argument with both numbers unless tensor >= 1 divides
  /// the number of ranks, before anything is sent.
  EvenGrid(MPI_Comm comm, int tensor) {
    int ranks = 0, rank = 0;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(comm, &rank);
    if (tensor < 1 || ranks % tensor != 0)
      throw std::invalid_argument(std::to_string(tensor) + " does not divide " + std::to_string(ranks) +
                                  " ranks");
    MPI_Comm_split(comm, rank / tensor, rank, &tensor_);
    MPI_Comm_split(comm, rank % tensor, rank, &context_);
  }
  ~EvenGrid() {
    MPI_Comm_free(&tensor_);
    MPI_Comm_free(&context_);
  }
  EvenGrid(const EvenGrid&) = delete;
  EvenGrid& operator=(const EvenGrid&) = delete;

  MPI_Comm tensor() const { return tensor_; }
  MPI_Comm context() const { return context_; }

 private:
  MPI_Comm tensor_ = MPI_COMM_NULL, context_ = MPI_COMM_NULL;
};

}  // namespace course
