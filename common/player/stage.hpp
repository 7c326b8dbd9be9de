#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "protocol/case.hpp"
#include "protocol/compute_observer.hpp"
#include "protocol/status_page.hpp"
#include "trace/trace.hpp"

namespace course {

/// How a call is watched: with all that finds mistakes, or only timed, with spans or without, or while a
/// simulated GPU looks at every access.
enum class Watching { Graded, Timed, TimedWithoutSpans, TimedAndChecked };

/// The memory of the tensor that has this address, among those that the function is given; empty: none has.
using TensorAt = std::function<std::span<const std::byte>(const void* address)>;

/// The processes a player runs on: here one alone; a job of MPI's overrides all of it.
class Stage {
 public:
  virtual ~Stage() = default;
  virtual int world_rank() const { return 0; }
  virtual int world_size() const { return 1; }
  /// Waits for every process without using up a core.
  virtual void barrier() {}
  /// The communicator of a case that this process plays as `rank`, or null. Collective over the world: a
  /// process without a part calls it with rank -1. What is returned goes away with its last owner, on all
  /// ranks alike. With `apart` each rank is alone on a communicator of its own.
  virtual std::shared_ptr<const void> enter(int /*rank*/, bool /*apart*/ = false) { return nullptr; }
  /// What a stage draws in the coming case, such as the order of a GPU's threads, it draws from this number:
  /// a case that is played again is played alike.
  virtual void draw_from(std::uint64_t /*seed*/) {}
  /// Whether what kernels ask of memory is counted in the coming case.
  virtual void count_kernels(bool /*counted*/) {}
  virtual void begin_watching(const void* /*communicator*/, Watching, RankStatus&,
                              const TensorAt& /*tensor_at*/ = {}) {}
  /// What the function has started and left, such as kernels of a GPU, comes to its end, while the page still
  /// says that the rank computes.
  virtual void settle() {}
  /// What is told of the computation; lives as long as the stage.
  virtual ComputeObserver& compute_observer() { return nobody_; }
  /// Whether the spans of a timed call are those of a GPU's streams.
  virtual bool has_streams() const { return false; }
  /// Enters what was seen; returns the spans of a timed call's MPI calls, on this host's monotonic clock, or
  /// those of a GPU's streams.
  virtual std::vector<Span> end_watching(RankReport&) { return {}; }

  /// What to add to this process's monotonic clock to have that of world rank 0. Collective over the world.
  virtual double clock_offset_s() { return 0; }
  /// Makes the first messages between neighbours, which set connections up, before a clock runs.
  virtual void connect_neighbours(const void* /*communicator*/) {}
  /// Lets all ranks of a case go on at one moment.
  virtual void start_together(const void* /*communicator*/) {}
  /// The largest of the ranks' numbers, place by place.
  virtual std::vector<double> largest(std::vector<double> numbers, const void* /*communicator*/) {
    return numbers;
  }

 private:
  ComputeObserver nobody_;
};

/// The player: reads every case of the plan, unlinks what it read, meets the others, loads the submission,
/// plays. Returns the process's exit code.
int play(int argc, char** argv, Stage& stage);

}  // namespace course
