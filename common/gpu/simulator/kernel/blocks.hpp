#pragma once

#include <cstddef>
#include <string>

#include "gpu/simulator/host/operations.hpp"
#include "gpu/simulator/kernel/kernel_side.hpp"

/// The blocks of a launch, one after another in a drawn order. A block's threads run, in an order drawn anew
/// each time, until each waits at a barrier or for lanes of its warp, or has ended; nobody may rely on lanes
/// that go along together.
namespace course::gpu {

/// Runs the code once for each thread of the launch, which is the operation that runs now.
void run_blocks(OperationNumber launch, const ThreadCode& code);

/// The running thread, and with it its kernel, goes no further.
void abandon_kernel();
/// The kernel needs more shared memory than there is: it does not run.
void refuse_shared_memory(std::size_t bytes, std::size_t most);

}  // namespace course::gpu
