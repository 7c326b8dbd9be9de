// Passes a number round a ring of processes. Each rank adds its own number to it.
//   mpicxx ring.cpp -o ring && mpirun -n 4 ./ring
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int world_size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  const int right = (rank + 1) % world_size;
  const int left = (rank + world_size - 1) % world_size;
  const int tag = 7;

  int received = 0;
  if (rank == 0) {
    const int start = 100;
    MPI_Send(&start, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
    MPI_Recv(&received, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(&received, 1, MPI_INT, left, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int passed_on = received + rank;
    MPI_Send(&passed_on, 1, MPI_INT, right, tag, MPI_COMM_WORLD);
  }
  std::printf("rank %d of %d received %d from rank %d\n", rank, world_size, received, left);

  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) std::printf("the sum of all ranks is %d\n", sum);
  MPI_Finalize();
}
