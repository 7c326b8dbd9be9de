// what: defines MPI_Send, MPI_Recv and MPI_Comm_rank itself, which only its own calls meet
// graded: should be
// namespaces: should be
// user: should be
// none: should be
#include <mpi.h>
extern "C" {
int MPI_Send(const void*, int, MPI_Datatype, int, int, MPI_Comm) {
  return MPI_SUCCESS;
}
int MPI_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*) {
  return MPI_SUCCESS;
}
int MPI_Comm_rank(MPI_Comm, int* rank) {
  *rank = 0;
  return MPI_SUCCESS;
}
}
bool attack(MPI_Comm) {
  return true;
}
