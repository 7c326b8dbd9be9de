#pragma once

namespace course::mpi_layer {

/// Starts MPI for functions that call it from several threads, as an overlapped ring may. Where the library
/// does not grant that, says so on stderr and ends the process with exit code 3.
void start(int* argc, char*** argv);

}  // namespace course::mpi_layer
