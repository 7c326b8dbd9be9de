#pragma once

#include <cuda_runtime.h>

namespace lesson09 {

/// Task 1. lse_i = log sum_j exp(x_ij) for every row of x [rows, cols]; lse has `rows` entries. One warp
/// computes a row.
/// x and lse are in device memory, x row after row. The lanes share the row: all together they read and write
/// at most eight times as many bytes as x and lse have. A request is what the lanes of a warp ask for with
/// one instruction: the warps make at most eight times as many as full warps need to read x and write lse
/// once, a float a lane. Scores are -inf (masked), or finite and at most 2^127 in magnitude; a row that is
/// -inf throughout, or has no columns, gives -inf. Either extent may be 0. The kernel is launched in
/// `stream`; the function returns without waiting for it, allocates nothing, and throws std::runtime_error
/// when the launch is refused. Source of the formula: lesson 01.
void logsumexp(const float* x, float* lse, int rows, int cols, cudaStream_t stream);

/// Task 2. Softmax of every row of x [rows, cols] into p [rows, cols]. One block of threads computes a row.
/// x and p are in device memory, row after row, and do not overlap. A row that is -inf throughout gives
/// zeros. The threads share the row, within the same limits, of x and p. For the rest as task 1.
void softmax(const float* x, float* p, int rows, int cols, cudaStream_t stream);

}  // namespace lesson09
