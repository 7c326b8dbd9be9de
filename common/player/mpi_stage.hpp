#pragma once

#include <functional>
#include <memory>

#include "player/stage.hpp"

namespace course {

/// The processes of a job that mpirun has started.
class MpiStage : public Stage {
 public:
  MpiStage();

  int world_rank() const override { return world_rank_; }
  int world_size() const override { return world_size_; }
  void barrier() override;
  std::shared_ptr<const void> enter(int rank, bool apart) override;
  void begin_watching(const void* communicator, Watching how, RankStatus& status,
                      const TensorAt& tensor_at) override;
  ComputeObserver& compute_observer() override;
  std::vector<Span> end_watching(RankReport& report) override;
  double clock_offset_s() override;
  void connect_neighbours(const void* communicator) override;
  void start_together(const void* communicator) override;
  std::vector<double> largest(std::vector<double> numbers, const void* communicator) override;

 private:
  int world_rank_ = 0;
  int world_size_ = 1;
};

/// Starts MPI, plays on the stage that is made then, and ends MPI, which ends every rank where this one
/// failed. Returns the process's exit code.
int play_under_mpi(int argc, char** argv, const std::function<std::unique_ptr<Stage>()>& make_stage,
                   const std::function<int(int argc, char** argv, Stage& stage)>& play_on = play);

}  // namespace course
