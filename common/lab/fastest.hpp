#pragma once

#include <mpi.h>

#include <functional>
#include <string>

#include "lab/plan.hpp"
#include "lab/recording.hpp"

namespace course::lab {

/// Repeats a call and keeps its fastest recording. A run of milliseconds is mostly first messages, first
/// touches of memory and the whims of the scheduler, and no run is faster than what it does.
class Fastest {
 public:
  using Call = std::function<void(ComputeLog&)>;

  Fastest(std::string name, Call call, MPI_Comm comm);

  /// Once more. Collective.
  void again();
  double seconds() const { return seconds_; }
  const std::string& name() const { return name_; }
  Recording& best() { return best_; }

  /// On rank 0 with what every rank saw, on rank 0's clock. Collective.
  CallResult collect();

 private:
  std::string name_;
  Call call_;
  MPI_Comm comm_;
  int calls_ = 0;
  double seconds_ = 0;
  Recording best_;
};

}  // namespace course::lab
