#include "mpi_layer/start.hpp"

#include <mpi.h>

#include <cstdio>
#include <cstdlib>

namespace course::mpi_layer {

namespace {

const char* name_of(int level) {
  switch (level) {
    case MPI_THREAD_SINGLE:
      return "MPI_THREAD_SINGLE";
    case MPI_THREAD_FUNNELED:
      return "MPI_THREAD_FUNNELED";
    default:
      return "MPI_THREAD_SERIALIZED";
  }
}

}  // namespace

void start(int* argc, char*** argv) {
  int granted = 0;
  PMPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &granted);
  if (granted >= MPI_THREAD_MULTIPLE) return;
  std::fprintf(stderr, "this MPI library grants %s, expected MPI_THREAD_MULTIPLE\n", name_of(granted));
  PMPI_Finalize();
  std::exit(3);
}

}  // namespace course::mpi_layer
