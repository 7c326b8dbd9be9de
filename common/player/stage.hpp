#pragma once

#include "protocol/case.hpp"
#include "protocol/compute_observer.hpp"
#include "protocol/status_page.hpp"

namespace course {

/// The processes a player runs on: one alone, or those of an MPI job.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual int world_rank() const = 0;
  /// Waits for every process without using up a core.
  virtual void barrier() = 0;
  /// Enters a case that this process plays as `rank`; returns a pointer to its communicator, or null.
  /// Collective over the world: a process without a part calls it with rank -1.
  virtual const void* enter(const CaseManifest& manifest, int rank) = 0;
  virtual void begin_watching(RankStatus* status) = 0;
  /// What adapters tell of the computation; lives as long as the stage.
  virtual ComputeObserver& compute_observer() = 0;
  virtual void end_watching(RankReport& report) = 0;
  /// Leaves the case; collective over the world like enter().
  virtual void leave() = 0;
};

/// The player: reads every case of the plan, unlinks what it read, meets the others, loads the submission,
/// plays. Returns the process's exit code.
int play(int argc, char** argv, Stage& stage);

}  // namespace course
