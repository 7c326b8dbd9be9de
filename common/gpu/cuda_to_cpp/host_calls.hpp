#pragma once

#include <string>
#include <vector>

#include "text/tokenizer.hpp"

namespace course::gpu {

/// Refuses calls that the host's compiler would take and nvcc does not: in a function of the device, one of a
/// function that the source defines without __device__, or of std::max and its like, be they
/// constexpr. What cannot be told by its tokens passes. Throws std::invalid_argument "NAME:LINE: what".
void refuse_host_calls(const std::vector<Token>& tokens, const std::string& name);

}  // namespace course::gpu
