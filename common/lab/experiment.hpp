#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "lab/plan.hpp"
#include "lab/recording.hpp"

/// What the ranks do with a plan. Every function here is collective.
namespace course::lab {

/// Is told what is being done, on rank 0.
using Say = std::function<void(const std::string&)>;

/// Plays the case of the plan some times with its MPI calls recorded. Compute is what the adapter marks as
/// such; where it marks nothing, all that lies between MPI calls is taken for it.
CallResult play_case(const Plan& plan, MPI_Comm comm);

/// Runs the lesson's ring on generated tokens some times, its blocks timed.
CallResult run_ring(const Plan& plan, MPI_Comm comm);

/// The laboratory: a setting whose work takes twice as long as its transfers, and one in which it takes half
/// as long. Throws std::runtime_error where no number of tokens gives such a setting.
std::vector<Measured> run_laboratory(const Plan& plan, const Say& say, MPI_Comm comm);

}  // namespace course::lab
