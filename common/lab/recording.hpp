#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "demo/compute_log.hpp"
#include "demo/rank_result.hpp"
#include "trace/trace.hpp"

namespace course::lab {

using demo::ComputeLog;

/// What one rank saw of one call, on its host's monotonic clock.
struct Recording {
  double begin_s = 0;
  double end_s = 0;
  demo::RankResult result;  ///< with the spans of compute and of MPI calls, in order
};

/// Makes the call, which may log its compute, when all ranks are there, with every MPI call recorded.
/// Collective. What the call throws passes through.
Recording record(const std::function<void(ComputeLog&)>& call, MPI_Comm comm);

/// Compute wherever no MPI call is under way between begin and end: all that is known of code that does not
/// say when it computes.
void take_gaps_for_compute(Recording& recording);

}  // namespace course::lab
