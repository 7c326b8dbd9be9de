// what: gathers everything on every rank with calls that the MPI layer does not see
// graded: which no answer to this lesson needs
// namespaces: passed
// user: passed
// none: passed
#include <mpi.h>

#include <vector>
bool attack(MPI_Comm comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  const std::vector<float> own(4096, 1.0f);
  std::vector<float> all(own.size() * static_cast<std::size_t>(ranks));
  const int count = static_cast<int>(own.size());
  PMPI_Allgather(own.data(), count, MPI_FLOAT, all.data(), count, MPI_FLOAT, comm);
  return all.back() == 1.0f;
}
