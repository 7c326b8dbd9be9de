#pragma once

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <functional>
#include <span>

namespace lesson12 {

/// How the keys and values of all ranks are cut: those of rank r are [heads, tokens[r], head_dim] each, row
/// after row; tokens[r] may be 0.
struct Shards {
  std::span<const int> tokens;
  int heads, head_dim;
};

/// The block computation that the forward ring is given. It launches kernels in a stream and returns without
/// waiting for them. This rank's queries, and what they have seen so far, are its own.
struct Block {
  /// Lets the queries see the keys and values of rank `owner`, which are in device memory.
  std::function<void(const float* k, const float* v, int owner, cudaStream_t stream)> accumulate;
  /// Writes o and lse.
  std::function<void(cudaStream_t stream)> finish;
};

/// The same for the backward pass.
struct BlockBackward {
  /// Adds what this rank's queries and the keys and values of rank `owner` give to dk and dv, which are of
  /// the shape of k and v, and to dq, which is its own.
  std::function<void(const float* k, const float* v, int owner, float* dk, float* dv, cudaStream_t stream)>
      accumulate;
};

/// Task 1. A communicator of NCCL's for the ranks of `mpi`, each with the rank that it has there. All of them
/// need the same id, which one of them has made, and get it by MPI. The caller destroys the communicator.
ncclComm_t connect(MPI_Comm mpi);

/// Task 2. Attention round the ring, each transfer beside the work on the block that is sent on with it. Keys
/// and values travel from rank to rank + 1, modulo P: P blocks of work, this rank's own first, and P - 1
/// hops.
///
/// k and v are this rank's shard in device memory. Each block is given to block.accumulate once, with its
/// owner and with `stream` (one without tokens need not be), and block.finish is called with `stream` in the
/// end, once. For all that is put into `stream`, the function stands in its place: it begins behind what the
/// caller put there before, and what the caller puts there next comes behind all of it, its transfers, too.
/// It does not wait for the device, frees its memory, and destroys its streams and events.
///
///   - transfers beside which there is work are in a stream of the function's own; each send is in one group
///   with a receive;
///   - work on a block waits until the block has arrived and the work before it is over, and for nothing
///   else;
///   - a transfer waits until nobody reads the room that it fills any more, and until what it sends is there;
///   - the host waits for no stream and no event, and nothing waits for the whole device, nor may do so: no
///     cudaMalloc, cudaFree, cudaMemcpy.
///
/// Memory for at most two more blocks of keys and values, of the largest shard's size.
/// Source: Liu et al. 2023 (arXiv 2310.01889), algorithm 1.
void ring_attention(const float* k, const float* v, const Shards& shards, const Block& block, ncclComm_t comm,
                    cudaStream_t stream);

/// Task 3. The gradients, in the same way, into dk and dv of this rank's shard; what they hold beforehand is
/// undefined. Keys and values travel one block ahead of the work, P - 1 hops; the sums dk and dv of a block
/// follow it one block behind and come home after P hops (none for P = 1). While this rank's share in a block
/// is computed, the sum of the ranks before arrives in another room; then the two are added. Only the
/// last of these hops has no work to hide behind. Memory for at most two more blocks of keys and values and
/// three of dk and dv. Source: Liu et al. 2023, section 3 (backward pass).
void ring_backward(const float* k, const float* v, float* dk, float* dv, const Shards& shards,
                   const BlockBackward& block, ncclComm_t comm, cudaStream_t stream);

}  // namespace lesson12
