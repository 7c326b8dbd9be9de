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

/// How often to run: a run of a few milliseconds is mostly first messages, first touches of memory and the
/// whims of the scheduler, so of such runs the fastest of several is shown.
int worthwhile_runs(Index heads, Index seq, Index head_dim);

/// Runs the ring `runs` times on this rank's shard, with every block and every MPI call timed; the answer is
/// the last run's, the times are those of the run that was fastest on all ranks together. `page` shows where
/// it is, `after_block` is told how many blocks of a run are done. What the ring throws passes through, as an
/// end of the run for all ranks.
ShardOutput run_ring(const Subject& subject, const Shard& shard, int runs, MPI_Comm comm, RankStatus& page,
                     const std::function<void(int)>& after_block);

}  // namespace course::demo
