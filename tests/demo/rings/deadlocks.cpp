#include "ring.hpp"

namespace {

/// Everybody receives first.
void ring_attention(course::Call& call) {
  const MPI_Comm comm = call.communicator<MPI_Comm>();
  const int rank = rank_in(comm);
  int size = 0;
  MPI_Comm_size(comm, &size);
  float number = 0;
  MPI_Recv(&number, 1, MPI_FLOAT, (rank + size - 1) % size, 5, comm, MPI_STATUS_IGNORE);
  MPI_Send(&number, 1, MPI_FLOAT, (rank + 1) % size, 5, comm);
}

}  // namespace

const course::Adapter& course_adapter() {
  static const course::Adapter adapter{{"ring_attention", ring_attention}};
  return adapter;
}
