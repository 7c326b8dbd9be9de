#pragma once

#include <mpi.h>

#include <functional>
#include <vector>

#include "demo/rank_result.hpp"
#include "demo/subject.hpp"
#include "player/status.hpp"
#include "tensor/tensor.hpp"

namespace course::demo {

/// One rank's share of the input: q, k, v [heads, shard_tokens[rank], head_dim].
struct Shard {
  Tensor q, k, v;
  std::vector<int> shard_tokens;
};

struct ShardOutput {
  Tensor o;    ///< [heads, shard_tokens[rank], head_dim]
  Tensor lse;  ///< [heads, shard_tokens[rank]]
  RankResult result;
};

/// Whether a run takes so little time that its first messages and first touches of memory would be most of
/// it. Such a run is worth a warm-up.
bool is_brief(Index heads, Index seq, Index head_dim);

/// Runs the ring on this rank's shard, with every block and every MPI call timed; after a run to warm up, if
/// that is asked for. `page` shows where it is, `after_block` is told how many blocks are done. What the ring
/// throws passes through, as an end of the run for all ranks.
ShardOutput run_ring(const Subject& subject, const Shard& shard, bool warm_up, MPI_Comm comm,
                     RankStatus& page, const std::function<void(int)>& after_block);

}  // namespace course::demo
