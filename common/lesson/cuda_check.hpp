#pragma once

#include <cuda_runtime.h>

#include <stdexcept>
#include <string>

namespace course {

/// Throws std::runtime_error with CUDA's own words unless a call of the CUDA runtime succeeded.
inline void cuda_check(cudaError_t error) {
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error));
}

}  // namespace course
