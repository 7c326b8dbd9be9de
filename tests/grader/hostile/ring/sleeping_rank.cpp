// what: one rank sleeps while the others wait for it
// graded: stuck in compute
// namespaces: stuck in compute
// user: stuck in compute
// none: stuck in compute
#include <mpi.h>

#include <chrono>
#include <thread>
bool attack(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  if (rank == 1) std::this_thread::sleep_for(std::chrono::hours(24));
  return true;
}
