#pragma once

#include <cstdint>

#include "protocol/fact.hpp"
#include "protocol/kernel_counts.hpp"

/// A GPU on one core of the host, for CUDA sources that cuda_to_cpp has rewritten and include/cuda_runtime.h
/// completes. What a player needs of it is here; kernel/kernel_side.hpp and host/host_side.hpp have what
/// sources call. The folders:
///   kernel    how a kernel's threads run: blocks, fibers, warps, shared memory
///   host      what is carried out when, and what of it is ordered
///   memory    what memory there is, and every access: is it allowed, does it race, what does it cost
///   findings  what is told
namespace course::gpu {

/// A case begins: device memory is empty, no error has been, streams and events are forgotten. `seed` draws
/// the orders.
/// @param checked accesses are looked at, which takes several times as long; races and wrong accesses are
/// told
/// @param counted what kernels ask of memory is counted, for counts_by_kernel(); in a checked case alone
void begin(std::uint64_t seed, bool checked, bool counted = false);
/// Carries out what nobody has waited for.
void run_the_rest();
/// What was noted since: each fact once, the first few of each kind.
/// Memory that was not freed, streams and events that were not destroyed, and a launch whose error nobody
/// asked for, are told of a case that has finished.
Facts end(bool finished);
/// What the kernels of a counted case have asked of memory so far; none after end().
const CountsByKernel& counts_by_kernel();

}  // namespace course::gpu
