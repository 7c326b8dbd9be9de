#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "mpi_layer/mpi_layer.hpp"
#include "player/mpi_clock.hpp"
#include "player/stage.hpp"
#include "protocol/errors.hpp"

namespace {

/// Waits without a busy loop: the ranks that still compute may share this core.
void sleep_until_complete(MPI_Request request) {
  for (int done = 0; !done;) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

class MpiStage : public course::Stage {
 public:
  MpiStage() {
    PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank_);
    PMPI_Comm_size(MPI_COMM_WORLD, &world_size_);
  }

  int world_rank() const override { return world_rank_; }
  int world_size() const override { return world_size_; }

  void barrier() override {
    MPI_Request request;
    PMPI_Ibarrier(MPI_COMM_WORLD, &request);
    sleep_until_complete(request);
  }

  std::shared_ptr<const void> enter(int rank, bool apart) override {
    MPI_Comm comm = MPI_COMM_NULL;
    const int colour = apart ? rank : 0;
    PMPI_Comm_split(MPI_COMM_WORLD, rank >= 0 ? colour : MPI_UNDEFINED, rank, &comm);
    return {new MPI_Comm(comm), [](const MPI_Comm* made) {
              MPI_Comm freed = *made;
              if (freed != MPI_COMM_NULL) PMPI_Comm_free(&freed);
              delete made;
            }};
  }

  void begin_watching(const void* communicator, course::Watching how, course::RankStatus& status) override {
    const bool graded = how == course::Watching::Graded;
    course::mpi_layer::begin(comm(communicator),
                             {.synchronous_sends = graded,
                              .record_spans = how == course::Watching::Timed,
                              .guard_buffers = graded,
                              .delay_tests = graded},
                             &status);
  }

  course::ComputeObserver& compute_observer() override { return course::mpi_layer::compute_observer(); }

  std::vector<course::Span> end_watching(course::RankReport& report) override {
    course::mpi_layer::Report seen = course::mpi_layer::end();
    report.bytes_sent_to = std::move(seen.bytes_sent_to);
    report.collective_bytes = seen.collective_bytes;
    report.facts = std::move(seen.facts);
    return std::move(seen.spans);
  }

  double clock_offset_s() override { return course::clock_offset_s(MPI_COMM_WORLD); }

  void connect_neighbours(const void* communicator) override {
    int rank = 0;
    int size = 1;
    PMPI_Comm_rank(comm(communicator), &rank);
    PMPI_Comm_size(comm(communicator), &size);
    PMPI_Sendrecv(nullptr, 0, MPI_BYTE, (rank + 1) % size, 1, nullptr, 0, MPI_BYTE, (rank + size - 1) % size,
                  1, comm(communicator), MPI_STATUS_IGNORE);
  }

  void start_together(const void* communicator) override { PMPI_Barrier(comm(communicator)); }

  std::vector<double> largest(std::vector<double> numbers, const void* communicator) override {
    PMPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, MPI_MAX,
                   comm(communicator));
    return numbers;
  }

 private:
  static MPI_Comm comm(const void* communicator) { return *static_cast<const MPI_Comm*>(communicator); }

  int world_rank_ = 0;
  int world_size_ = 1;
};

/// Functions may call MPI from several threads, as an overlapped ring does. Where the library does not grant
/// that, says so on stderr; returns whether it does.
bool start_mpi(int* argc, char*** argv) {
  int granted = 0;
  PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &granted);
  if (granted >= MPI_THREAD_MULTIPLE) return true;
  const char* level = granted == MPI_THREAD_SINGLE     ? "MPI_THREAD_SINGLE"
                      : granted == MPI_THREAD_FUNNELED ? "MPI_THREAD_FUNNELED"
                                                       : "MPI_THREAD_SERIALIZED";
  std::fprintf(stderr, "this MPI library grants %s, expected MPI_THREAD_MULTIPLE\n", level);
  PMPI_Finalize();
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (!start_mpi(&argc, &argv)) return course::unavailable;
  int code = 0;
  {
    MpiStage stage;
    code = course::play(argc, argv, stage);
  }
  if (code != 0) PMPI_Abort(MPI_COMM_WORLD, code);
  PMPI_Finalize();
  return code;
}
