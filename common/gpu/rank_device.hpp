#pragma once

#include <mpi.h>

#include "gpu/named_calls.hpp"
#include "lesson/cuda_check.hpp"

/// What the adapters of rings on devices share.
namespace course {

/// The ranks take the devices that they see in turn.
inline void choose_device(MPI_Comm mpi) {
  int rank = 0, devices = 0;
  MPI_Comm_rank(mpi, &rank);
  cuda_check(cudaGetDeviceCount(&devices));
  cuda_check(cudaSetDevice(rank % devices));
}

}  // namespace course
