#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <vector>

#include "lab/plan.hpp"
#include "lab/recording.hpp"

namespace course::lab {

/// A call that is made several times, of which one is looked at.
class Repeated {
 public:
  using Call = std::function<void(ComputeLog&)>;

  /// Fastest: shows what a ring does, since no run is faster than that, and a run of milliseconds is mostly
  /// first messages, first touches of memory and the whims of the scheduler. Median: compares, since on a
  /// machine that is now and then a little faster or slower the fastest of one ring and of another differ by
  /// luck.
  enum class Look { Fastest, Median };

  Repeated(std::string name, Call call, Look look, MPI_Comm comm);

  /// Once more. Collective.
  void again();
  const std::string& name() const { return name_; }
  /// From the moment when all had begun to the last end, of the call looked at.
  double seconds() const { return seconds_[looked_at()]; }
  Recording& recording() { return recordings_[looked_at()]; }

  /// On rank 0 with what every rank saw, on rank 0's clock. Collective.
  CallResult collect();

 private:
  std::size_t looked_at() const;

  std::string name_;
  Call call_;
  Look look_;
  MPI_Comm comm_;
  std::vector<double> seconds_;  ///< the same on all ranks
  std::vector<Recording> recordings_;
};

}  // namespace course::lab
