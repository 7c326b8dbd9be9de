// What a call of MPI_Testall costs that finds nothing done.
//   cmake --build build --target testall_cost && mpirun -n 2 build/bin/testall_cost
// Through TCP in place of shared memory: mpirun -n 2 --mca pml ob1 --mca btl self,tcp build/bin/testall_cost

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

namespace {

constexpr int numbers = 1 << 20;
constexpr int calls = 1000;
constexpr int batches = 300;
constexpr std::array tags{0, 1};  // K and V

/// The requests of a hop that the other rank does not answer yet: two receives and two sends.
struct Hop {
  std::array<std::vector<float>, 4> rooms;
  std::vector<MPI_Request> requests;
};

void start(Hop& hop, int other) {
  for (std::vector<float>& room : hop.rooms) room.resize(numbers);
  for (const int tag : tags)
    MPI_Irecv(hop.rooms[tag].data(), numbers, MPI_FLOAT, other, tag, MPI_COMM_WORLD,
              &hop.requests.emplace_back());
  for (const int tag : tags)
    MPI_Isend(hop.rooms[2 + tag].data(), numbers, MPI_FLOAT, other, 2 + tag, MPI_COMM_WORLD,
              &hop.requests.emplace_back());
}

/// The mean of a batch, the lowest of all batches: what else the machine does can only add time.
double seconds_a_call(Hop& hop) {
  double lowest = 1;
  for (int batch = 0; batch < batches; ++batch) {
    const double start_s = MPI_Wtime();
    for (int call = 0; call < calls; ++call) {
      int done = 0;
      MPI_Testall(static_cast<int>(hop.requests.size()), hop.requests.data(), &done, MPI_STATUSES_IGNORE);
    }
    lowest = std::min(lowest, (MPI_Wtime() - start_s) / calls);
  }
  return lowest;
}

/// Sends what the other rank waits for, and receives what it sends.
void finish(Hop& hop, int other) {
  std::vector<float> room(numbers);
  for (const int tag : tags) {
    MPI_Request received;
    MPI_Irecv(room.data(), numbers, MPI_FLOAT, other, 2 + tag, MPI_COMM_WORLD, &received);
    MPI_Send(hop.rooms[2 + tag].data(), numbers, MPI_FLOAT, other, tag, MPI_COMM_WORLD);
    MPI_Wait(&received, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(static_cast<int>(hop.requests.size()), hop.requests.data(), MPI_STATUSES_IGNORE);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int world_size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  if (world_size != 2) {
    std::fprintf(stderr, "testall_cost needs two ranks: mpirun -n 2 build/bin/testall_cost\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  Hop hop;
  start(hop, 1 - rank);
  MPI_Barrier(MPI_COMM_WORLD);
  const double cost_s = seconds_a_call(hop);
  MPI_Barrier(MPI_COMM_WORLD);  // until both have measured nothing may be done
  finish(hop, 1 - rank);
  if (rank == 0) std::printf("MPI_Testall over four open requests: %.2f microseconds a call\n", cost_s * 1e6);
  MPI_Finalize();
}
