#pragma once

#include <mpi.h>

#include <functional>
#include <span>

#include "ring/softmax_state.hpp"

namespace lesson03 {

using course::SoftmaxState;

/// The arithmetic of lesson 02, given: this lesson is about who sends what to whom.
struct SoftmaxSteps {
  /// The state of this rank's own scores.
  std::function<SoftmaxState(std::span<const float> scores)> local;
  /// The state of a's and b's scores taken together.
  std::function<SoftmaxState(SoftmaxState a, SoftmaxState b)> merge;
  /// Writes p_j = exp(x_j - m) / l, or zeros when the state has seen only -inf.
  std::function<void(std::span<const float> x, SoftmaxState whole, std::span<float> p)> write;
};

/// Task 1. One row of scores is spread over the ranks of comm. x is this rank's piece (it may be empty); p
/// takes the softmax of the whole row at the same places. A state travels the chain 0 -> 1 -> ... -> P - 1;
/// each rank adds its own scores before it passes the state on. Then the last rank's state reaches every
/// rank. Returns the whole row's logsumexp, m + log l, on every rank. Uses comm, or a communicator made of it
/// (MPI_Comm_dup, MPI_Comm_split, MPI_Cart_create), and frees each communicator, group, datatype and
/// operation that it makes; no call whose bytes the tests cannot count (MPI_Win_..., MPI_Neighbor_...,
/// MPI_Alltoallw). Must not rely on MPI_Send returning before its message is received. All ranks together
/// send at most 2 P - 1 states of two floats each, and collectives bring a rank at most P states.
float chain_softmax(std::span<const float> x, std::span<float> p, const SoftmaxSteps& steps, MPI_Comm comm);

/// Task 2. The same result by rotation: at each of P - 1 hops every rank sends the state that it received
/// last (at first its own) to rank + 1 and receives one from rank - 1, both modulo P, and merges what
/// arrives, at once or at the end. Blocking MPI_Send and MPI_Recv, or calls that together wait for the other
/// side as these do (MPI_Isend or a persistent request with its wait, MPI_Probe, MPI_Mprobe), and so no
/// MPI_Bsend. At most P - 1 states leave a rank. Communicators, and calls whose bytes the tests cannot count,
/// as in task 1. P may be odd, or 1.
float rotation_softmax(std::span<const float> x, std::span<float> p, const SoftmaxSteps& steps,
                       MPI_Comm comm);

}  // namespace lesson03
