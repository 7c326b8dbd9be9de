// Every rank sends to the right first, and receives from the left afterwards. With large messages that hangs.
//   mpicxx hang.cpp -o hang && mpirun -n 4 ./hang 10 && mpirun -n 4 ./hang 1000000
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int world_size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  const int right = (rank + 1) % world_size;
  const int left = (rank + world_size - 1) % world_size;
  const int tag = 7;
  const int count = argc > 1 ? std::atoi(argv[1]) : 10;
  const std::vector<float> mine(count, 1.0f);
  std::vector<float> theirs(count);

  std::printf("rank %d sends %d floats to rank %d\n", rank, count, right);
  std::fflush(stdout);
  MPI_Send(mine.data(), count, MPI_FLOAT, right, tag, MPI_COMM_WORLD);
  MPI_Recv(theirs.data(), count, MPI_FLOAT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  std::printf("rank %d has what rank %d sent\n", rank, left);
  MPI_Finalize();
}
