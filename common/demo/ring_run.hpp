#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "demo/rings.hpp"
#include "protocol/status_page.hpp"

namespace course::demo {

/// How often to run: a run of a few milliseconds is mostly first messages, first touches of memory and the
/// whims of the scheduler, so of such runs the fastest of several is shown.
int worthwhile_runs(Index heads, Index seq, Index head_dim);

/// Is told how many blocks of a pass ("blocking ring, backward") are done.
using AfterBlock = std::function<void(const std::string& pass, int done)>;

/// Runs each ring `runs` times on this rank's shard, in turns, so that what else the machine does meets all
/// of them alike: forward and, with a d_o, backward, with every block and every MPI call timed. By ring, the
/// answer is its last run's, the times are those of its run that was fastest on all ranks together. `page`
/// shows where it is. What a ring throws passes through, as an end of the run for all ranks.
std::vector<ShardOutput> run_rings(const std::vector<Ring>& rings, const Shard& shard, int runs,
                                   MPI_Comm comm, RankStatus& page, const AfterBlock& after_block);

}  // namespace course::demo
