#include <mpi.h>

#include <chrono>
#include <thread>

#include "mpi_layer/mpi_layer.hpp"
#include "mpi_layer/start.hpp"
#include "player/stage.hpp"

namespace {

/// Waits without a busy loop: the ranks that still compute may share this core.
void sleep_until_complete(MPI_Request request) {
  for (int done = 0; !done;) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

class LayerWatch : public course::ComputeObserver {
  void begin(std::span<const course::ComputeBuffer> buffers) override {
    course::mpi_layer::compute_begins(buffers);
  }
  void pause() override { course::mpi_layer::compute_pauses(); }
  void end() override { course::mpi_layer::compute_ends(); }
};

class MpiStage : public course::Stage {
 public:
  MpiStage() { PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank_); }

  int world_rank() const override { return world_rank_; }

  void barrier() override {
    MPI_Request request;
    PMPI_Ibarrier(MPI_COMM_WORLD, &request);
    sleep_until_complete(request);
  }

  const void* enter(const course::CaseManifest&, int rank) override {
    PMPI_Comm_split(MPI_COMM_WORLD, rank >= 0 ? 0 : MPI_UNDEFINED, rank, &comm_);
    return &comm_;
  }

  void begin_watching(course::RankStatus* status) override {
    course::mpi_layer::begin(
        comm_, {.synchronous_sends = true, .record_spans = false, .guard_buffers = true, .delay_tests = true},
        status);
  }

  course::ComputeObserver& compute_observer() override { return compute_watch_; }

  void end_watching(course::RankReport& report) override {
    course::mpi_layer::Report seen = course::mpi_layer::end();
    report.bytes_sent_to = std::move(seen.bytes_sent_to);
    report.collective_bytes = seen.collective_bytes;
    for (course::mpi_layer::Fact& fact : seen.facts) report.facts.emplace_back(fact.kind, fact.text);
  }

  void leave() override {
    barrier();
    if (comm_ != MPI_COMM_NULL) PMPI_Comm_free(&comm_);
  }

 private:
  int world_rank_ = 0;
  MPI_Comm comm_ = MPI_COMM_NULL;
  LayerWatch compute_watch_;
};

}  // namespace

int main(int argc, char** argv) {
  course::mpi_layer::start(&argc, &argv);
  int code = 0;
  {
    MpiStage stage;
    code = course::play(argc, argv, stage);
  }
  if (code != 0) PMPI_Abort(MPI_COMM_WORLD, code);
  PMPI_Finalize();
  return code;
}
