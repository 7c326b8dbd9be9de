// what: prints without end, which mpirun takes in
// graded: printed more than 64 MiB
// namespaces: printed more than 64 MiB
// user: printed more than 64 MiB
// none: printed more than 64 MiB
#include <mpi.h>

#include <cstdio>
bool attack(MPI_Comm) {
  for (;;) std::puts("a line of text that is printed again and again, up to ten gigabytes of it and more");
}
