#include "gpu/nccl/nccl.hpp"
#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/host/streams.hpp"
#include "mpi_layer/mpi_layer.hpp"
#include "player/mpi_stage.hpp"
#include "player/simulated_gpu.hpp"

namespace course {

namespace {

/// Processes with a GPU each, between which NCCL's messages pass. The status page shows them as it does
/// MPI's.
class NcclStage : public SimulatedGpu<MpiStage> {
 public:
  void begin_watching(const void* communicator, Watching how, RankStatus& status,
                      const TensorAt& tensor_at) override {
    SimulatedGpu::begin_watching(communicator, how, status, tensor_at);
    gpu::nccl::begin(*static_cast<const MPI_Comm*>(communicator), mpi_layer::note_completion);
    gpu::wait_outside_with([](const auto& done) { mpi_layer::wait_for("NCCL", done); });
    gpu::tell_findings_to(mpi_layer::note);
    mpi_layer::watch_beside({gpu::run_what_can, gpu::nccl::pending});
  }

  std::vector<Span> end_watching(RankReport& report) override {
    gpu::nccl::Traffic traffic = gpu::nccl::end(report.ending == "finished");
    std::vector<Span> spans = SimulatedGpu::end_watching(report);
    report.nccl_bytes_sent_to = std::move(traffic.bytes_sent_to);
    report.nccl_collective_bytes = traffic.collective_bytes;
    for (auto& [call, sent, received, beside] : traffic.groups)
      report.nccl_groups.push_back({std::move(call), sent, received, std::move(beside)});
    return spans;
  }
};

}  // namespace

}  // namespace course

int main(int argc, char** argv) {
  return course::play_under_mpi(argc, argv, [] { return std::make_unique<course::NcclStage>(); });
}
