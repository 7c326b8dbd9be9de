#pragma once

#include <mpi.h>

#include <span>

#include "ring/block_attention.hpp"
#include "tensor/view.hpp"

namespace lesson05 {

/// Task 1. The rank whose keys and values rank `rank` holds after `hop` hops (0 <= hop < world_size), when
/// every hop moves every block from its rank to rank + 1 modulo world_size: (rank - hop) mod world_size,
/// never negative.
int block_owner(int rank, int hop, int world_size);

/// Task 2. Attention of this rank's queries over the keys and values of all ranks of comm. Queries stay; keys
/// and values travel round the ring, each rank sending to rank + 1 and receiving from rank - 1, modulo P.
///
/// q, k, v, o [heads, n, head_dim] and lse [heads, n] are this rank's shard, n = shard_tokens[rank];
/// shard_tokens[r] is the number of tokens of rank r, known to everybody, unequal, perhaps 0.
///
/// Each block, this rank's own too, is given to block.accumulate once, in any order, with its owner's rank;
/// block.finish then writes o and lse. P blocks of work, P - 1 hops: a rank sends each block but its
/// right-hand neighbour's once. A message may be as long as its block or padded to the largest shard's.
///
/// Uses comm, or a communicator made of it (MPI_Comm_dup, MPI_Comm_split, MPI_Cart_create), and frees each
/// communicator, group, datatype and operation that it makes; no collective for keys and values
/// (MPI_Alltoallv, too, is one), and no call whose bytes nobody counts (MPI_Win_..., MPI_Neighbor_...,
/// MPI_Alltoallw); blocking calls will do; must not rely on MPI_Send buffering. Memory for at most two more
/// blocks of keys and values, of the largest shard's size. Source: Liu et al. 2023 (arXiv 2310.01889),
/// algorithm 1.
void ring_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                    course::HeadsView<const float> v, course::HeadsView<float> o,
                    course::MatrixView<float> lse, std::span<const int> shard_tokens,
                    const course::BlockAttention& block, MPI_Comm comm);

}  // namespace lesson05
