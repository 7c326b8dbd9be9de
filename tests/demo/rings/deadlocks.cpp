#include "demo/ring_entry.hpp"

/// Everybody receives first.
void course_demo_ring(course::HeadsView<const float>, course::HeadsView<const float>,
                      course::HeadsView<const float>, course::HeadsView<float>, course::MatrixView<float>,
                      std::span<const int>, const course::BlockAttention&, MPI_Comm comm) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  float number = 0;
  MPI_Recv(&number, 1, MPI_FLOAT, (rank + size - 1) % size, 5, comm, MPI_STATUS_IGNORE);
  MPI_Send(&number, 1, MPI_FLOAT, (rank + 1) % size, 5, comm);
}
