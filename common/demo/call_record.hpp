#pragma once

#include <string>
#include <vector>

#include "demo/compute_log.hpp"
#include "demo/rank_result.hpp"
#include "mpi_layer/mpi_layer.hpp"
#include "ring/block_attention.hpp"

/// What is kept of one call of a ring: when it computed, and what the MPI layer saw.
namespace course::demo {

/// "block of rank 2"
std::string block_label(int owner);

/// The same computation with each call in the log, under block_label(owner), with "backward, " before it for
/// gradients; of one in tiles each tile, and what is done between tiles. The log must outlive it.
BlockAttention timed(BlockAttention block, ComputeLog& log);
BlockAttentionBackward timed(BlockAttentionBackward block, ComputeLog& log);
TiledBlockAttention timed(TiledBlockAttention block, ComputeLog& log);
TiledBlockAttentionBackward timed(TiledBlockAttentionBackward block, ComputeLog& log);

/// This rank's result of a call: the spans of its compute and, where the layer kept them, of its MPI calls,
/// in order, on this host's monotonic clock. `rank` and `tokens` are left to the caller.
/// @param begin_s when the layer began to watch
RankResult result_of(const mpi_layer::Report& report, double begin_s, std::vector<Span> compute);

}  // namespace course::demo
