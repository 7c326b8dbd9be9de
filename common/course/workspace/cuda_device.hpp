#pragma once

#include <string>

namespace course::program {

/// Why nothing can be played on a CUDA device here, or an empty string: there is no nvcc, no driver or no
/// device.
std::string cuda_obstacle();

}  // namespace course::program
