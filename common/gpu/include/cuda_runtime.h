#pragma once

// The part of the CUDA runtime that the simulator has, under the toolkit's names, for a source that
// cuda_to_cpp has rewritten. What is not here is a compile error.

#include <cmath>
#include <cstdio>
#include <cstring>

#include "gpu/simulator/host/host_side.hpp"
#include "gpu/simulator/kernel/kernel_side.hpp"
#include "vector_types.h"

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __launch_bounds__(...)

// As CUDA has them; a template finds these where the argument's type does not bring them along.
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;

using course::gpu::dim3;
using course::gpu::uint3;

#include "device_functions.h"
#include "runtime_api.h"

// A kernel whose accesses the compiler does not announce is not looked at.
#pragma GCC poison no_sanitize no_sanitize_thread disable_sanitizer_instrumentation
