#pragma once

#include <mpi.h>

#include "player/adapter.hpp"

inline int rank_in(MPI_Comm comm) {
  int own = 0;
  MPI_Comm_rank(comm, &own);
  return own;
}

/// Attends to the rank's own block alone, which is right on one rank.
inline course::Tensor& attend_to_own_block(course::Call& call) {
  const course::Tensor& q = call.input("q");
  const course::BlockAttention block = call.blocks().forward();
  course::Tensor& o = call.output("o", q.shape());
  course::AttentionState state(q.extent(0), q.extent(1), q.extent(2));
  block.accumulate(q.heads(), call.input("k").heads(), call.input("v").heads(),
                   rank_in(call.communicator<MPI_Comm>()), state);
  block.finish(state, o.heads(), call.output("lse", {q.extent(0), q.extent(1)}).matrix());
  return o;
}
