#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace course::gpu {

/// Turns a CUDA source into the C++ that the simulator's headers complete. What changes:
///   kernel<<<grid, block, shared>>>(arguments)   a call of the simulator's launch()
///   __shared__ T a[n], b;                        storage of the block's own, of known extent
///   extern __shared__ T a[];                     the storage that the launch asked for
/// Every line stays where it is; strings, comments and the rest are left alone. Throws std::invalid_argument
/// "NAME:LINE: what" for a launch or a declaration that it cannot read, for a word of CUDA's that the
/// simulator does not have, and for what refuse_host_calls() refuses.
std::string cuda_to_cpp(std::string_view cuda, const std::string& name);

/// The whole of what the compiler gets in place of a CUDA source. Its messages and the debugger's are about
/// the lines of `name`.
std::string simulated_source(std::string_view cuda, const std::string& name);

/// For each word of the source that looks like one of CUDA's and does not occur in `headers`, the text of the
/// simulator's: "NAME:LINE: the simulator does not have cudaFoo; ...". The source may have defined it
/// elsewhere.
std::vector<std::string> notes_on_unknown_words(std::string_view cuda, const std::string& name,
                                                std::string_view headers);

}  // namespace course::gpu
