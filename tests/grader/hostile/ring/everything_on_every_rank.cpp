// what: gathers as much on every rank as all keys and values, then answers rightly
// graded: received through collectives
// namespaces: received through collectives
// user: received through collectives
// none: received through collectives
#include <mpi.h>

#include <vector>
bool attack(MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  const std::vector<float> own(4096, 1.0f);
  std::vector<float> all(own.size() * static_cast<std::size_t>(ranks));
  const int count = static_cast<int>(own.size());
  MPI_Allgather(own.data(), count, MPI_FLOAT, all.data(), count, MPI_FLOAT, comm);
  return all.back() == 1.0f;
}
