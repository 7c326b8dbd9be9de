#include "player/mpi_stage.hpp"

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <thread>
#include <vector>

#include "mpi_layer/mpi_layer.hpp"
#include "player/heap_blocks.hpp"
#include "player/own_process.hpp"
#include "protocol/errors.hpp"
#include "protocol/player_options.hpp"
#include "protocol/timing.hpp"

namespace course {

namespace {

constexpr int tag = 1;
constexpr int questions = 16;

using HostId = std::array<char, 64>;

/// Rank 0's answers to one rank's questions.
void tell_time(int asker, MPI_Comm comm) {
  for (int i = 0; i < questions; ++i) {
    PMPI_Recv(nullptr, 0, MPI_BYTE, asker, tag, comm, MPI_STATUS_IGNORE);
    const double now = now_s();
    PMPI_Send(&now, 1, MPI_DOUBLE, asker, tag, comm);
  }
}

double ask_time(MPI_Comm comm) {
  double fastest = std::numeric_limits<double>::infinity();
  double offset = 0;
  for (int i = 0; i < questions; ++i) {
    double theirs = 0;
    const double asked = now_s();
    PMPI_Send(nullptr, 0, MPI_BYTE, 0, tag, comm);
    PMPI_Recv(&theirs, 1, MPI_DOUBLE, 0, tag, comm, MPI_STATUS_IGNORE);
    const double answered = now_s();
    if (answered - asked >= fastest) continue;
    fastest = answered - asked;
    offset = theirs - (asked + answered) / 2;
  }
  return offset;
}

/// What to add to this rank's monotonic clock to have rank 0's. 0 where both run under the same kernel; else
/// found by asking rank 0 for the time and taking the fastest of some answers, to half its travel time.
/// Collective. Source: Cristian 1989.
double mpi_clock_offset_s(MPI_Comm comm) {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  HostId own{};
  host_id().copy(own.data(), own.size() - 1);
  std::vector<HostId> hosts(static_cast<std::size_t>(size));
  PMPI_Allgather(own.data(), sizeof(HostId), MPI_BYTE, hosts.data(), sizeof(HostId), MPI_BYTE, comm);
  if (rank != 0) return own != hosts[0] ? ask_time(comm) : 0;
  for (int other = 1; other < size; ++other) {
    if (hosts[static_cast<std::size_t>(other)] != own) tell_time(other, comm);
  }
  return 0;
}

MPI_Comm comm_at(const void* communicator) {
  return *static_cast<const MPI_Comm*>(communicator);
}

/// Waits without a busy loop: the ranks that still compute may share this core.
void sleep_until_complete(MPI_Request request) {
  for (int done = 0; !done;) {
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

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

/// Whether Slurm has several tasks here, and this process was started without what Open MPI would find the
/// others by. MPI_Init would end the program, or take it for the only rank. Source: srun(1), output
/// environment variables.
bool is_lone_task_of_slurm() {
  for (const char* given : {"PMIX_NAMESPACE", "PMIX_RANK", "PMI_RANK", "PMI_FD", "OMPI_COMM_WORLD_SIZE"})
    if (std::getenv(given) != nullptr) return false;
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  if (tasks == nullptr) tasks = std::getenv("SLURM_NTASKS");
  return tasks != nullptr && std::atoi(tasks) > 1;
}

/// By one task for all.
void tell_of_slurm() {
  const char* task = std::getenv("SLURM_PROCID");
  if (task != nullptr && std::atoi(task) != 0) return;
  std::fprintf(
      stderr,
      "player: Slurm has started this task without PMIx, by which it would find the others: use srun "
      "--mpi=pmix, or another pmix of srun --mpi=list, or mpirun within the job\n");
}

/// The MPI library that this program finds, in one line, for mpirun to be compared with.
int tell_library() {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(version, &length);
  std::puts(version);
  return 0;
}

}  // namespace

MpiStage::MpiStage() {
  PMPI_Comm_rank(MPI_COMM_WORLD, &world_rank_);
  PMPI_Comm_size(MPI_COMM_WORLD, &world_size_);
}

void MpiStage::barrier() {
  MPI_Request request;
  PMPI_Ibarrier(MPI_COMM_WORLD, &request);
  sleep_until_complete(request);
}

std::shared_ptr<const void> MpiStage::enter(int rank, bool apart) {
  MPI_Comm comm = MPI_COMM_NULL;
  const int colour = apart ? rank : 0;
  PMPI_Comm_split(MPI_COMM_WORLD, rank >= 0 ? colour : MPI_UNDEFINED, rank, &comm);
  return {new MPI_Comm(comm), [](const MPI_Comm* made) {
            MPI_Comm freed = *made;
            if (freed != MPI_COMM_NULL) PMPI_Comm_free(&freed);
            delete made;
          }};
}

void MpiStage::begin_watching(const void* communicator, Watching how, RankStatus& status,
                              const TensorAt& tensor_at) {
  const bool graded = how == Watching::Graded;
  mpi_layer::begin(comm_at(communicator),
                   {.synchronous_sends = graded,
                    .record_spans = how == Watching::Timed,
                    .guard_buffers = graded,
                    .delay_tests = graded,
                    .tensor_at = tensor_at,
                    .block_at = graded ? heap_blocks::block_at : nullptr},
                   &status);
  if (graded) heap_blocks::begin();
}

ComputeObserver& MpiStage::compute_observer() {
  return mpi_layer::compute_observer();
}

std::vector<Span> MpiStage::end_watching(RankReport& report) {
  mpi_layer::Report seen = mpi_layer::end();
  heap_blocks::end();
  report.traffic = std::move(seen.traffic);
  report.steps = std::move(seen.steps);
  report.collective_bytes = seen.collective_bytes;
  report.facts = std::move(seen.facts);
  return std::move(seen.spans);
}

double MpiStage::clock_offset_s() {
  return mpi_clock_offset_s(MPI_COMM_WORLD);
}

void MpiStage::connect_neighbours(const void* communicator) {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(comm_at(communicator), &rank);
  PMPI_Comm_size(comm_at(communicator), &size);
  PMPI_Sendrecv(nullptr, 0, MPI_BYTE, (rank + 1) % size, 1, nullptr, 0, MPI_BYTE, (rank + size - 1) % size, 1,
                comm_at(communicator), MPI_STATUS_IGNORE);
}

void MpiStage::start_together(const void* communicator) {
  PMPI_Barrier(comm_at(communicator));
}

std::vector<double> MpiStage::largest(std::vector<double> numbers, const void* communicator) {
  PMPI_Allreduce(MPI_IN_PLACE, numbers.data(), static_cast<int>(numbers.size()), MPI_DOUBLE, MPI_MAX,
                 comm_at(communicator));
  return numbers;
}

int play_under_mpi(int argc, char** argv, const std::function<std::unique_ptr<Stage>()>& make_stage,
                   const std::function<int(int argc, char** argv, Stage& stage)>& play_on) {
  if (argc == 2 && std::string_view(argv[1]) == mpi_library_option) return tell_library();
  if (is_lone_task_of_slurm()) {
    tell_of_slurm();
    return unavailable;
  }
  if (!start_mpi(&argc, &argv)) return unavailable;
  int code = 0;
  {
    const std::unique_ptr<Stage> stage = make_stage();
    code = play_on(argc, argv, *stage);
  }
  if (code != 0) PMPI_Abort(MPI_COMM_WORLD, code);
  PMPI_Finalize();
  return code;
}

}  // namespace course
