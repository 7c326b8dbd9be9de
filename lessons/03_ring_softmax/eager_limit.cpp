// How large a message does MPI_Send copy away, so that it returns although nobody has called MPI_Recv yet?
//   cmake --build build --target eager_limit && mpirun -n 2 build/bin/eager_limit
// Through TCP in place of shared memory: mpirun -n 2 --mca pml ob1 --mca btl self,tcp build/bin/eager_limit

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <thread>
#include <vector>

constexpr int largest = 1 << 22;
constexpr double receiver_is_late_s = 0.06;
constexpr int message_tag = 0;
constexpr int unused_tag = 1;

/// Where the receiver spends the time before it calls MPI_Recv.
enum class Meanwhile { OutsideMpi, InsideMpi };

/// Inside MPI the library can take a message in, as it does while a rank waits in an MPI_Send of its own.
void be_late(Meanwhile meanwhile) {
  if (meanwhile == Meanwhile::OutsideMpi) {
    std::this_thread::sleep_for(std::chrono::duration<double>(receiver_is_late_s));
    return;
  }
  for (const double start_s = MPI_Wtime(); MPI_Wtime() - start_s < receiver_is_late_s;) {
    int arrived = 0;
    MPI_Iprobe(0, unused_tag, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
  }
}

/// Rank 0 sends, rank 1 receives late. Returns on both whether the send returned before the receive began.
bool send_returns_early(int bytes, Meanwhile meanwhile) {
  static std::vector<char> message(largest);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  int early = 0;
  if (rank == 0) {
    const double start_s = MPI_Wtime();
    MPI_Send(message.data(), bytes, MPI_BYTE, 1, message_tag, MPI_COMM_WORLD);
    early = MPI_Wtime() - start_s < receiver_is_late_s / 2 ? 1 : 0;
  } else if (rank == 1) {
    be_late(meanwhile);
    MPI_Recv(message.data(), bytes, MPI_BYTE, 0, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Bcast(&early, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return early != 0;
}

/// A busy machine may hold up a send that does not wait: one early return of several tells.
bool is_buffered(int bytes, Meanwhile meanwhile) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    if (send_returns_early(bytes, meanwhile)) return true;
  }
  return false;
}

int largest_buffered(Meanwhile meanwhile) {
  int buffered = 0;
  int waits = largest;
  while (waits - buffered > 1) {
    const int bytes = (buffered + waits) / 2;
    (is_buffered(bytes, meanwhile) ? buffered : waits) = bytes;
  }
  return buffered;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int world_size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (world_size < 2) {
    std::fprintf(stderr, "eager_limit needs two ranks: mpirun -n 2 ./eager_limit\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int inside = largest_buffered(Meanwhile::InsideMpi);
  const int outside = largest_buffered(Meanwhile::OutsideMpi);
  if (rank == 0) {
    std::printf("MPI_Send returns before MPI_Recv is called up to\n");
    std::printf("%8d bytes while the receiver is inside MPI\n", inside);
    std::printf("%8d bytes while the receiver is outside MPI\n", outside);
  }
  MPI_Finalize();
}
