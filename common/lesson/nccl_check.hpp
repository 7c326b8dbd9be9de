#pragma once

#include <nccl.h>

#include <stdexcept>
#include <string>

namespace course {

/// Throws std::runtime_error with NCCL's own words unless a call of NCCL's succeeded.
inline void nccl_check(ncclResult_t result) {
  if (result != ncclSuccess) throw std::runtime_error(std::string("NCCL: ") + ncclGetErrorString(result));
}

}  // namespace course
