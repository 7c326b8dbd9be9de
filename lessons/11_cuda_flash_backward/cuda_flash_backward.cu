#include "cuda_flash_backward.hpp"
#include "lesson/cuda_check.hpp"
#include "lesson/not_implemented.hpp"

namespace lesson11 {

namespace {

// Kernels, and the functions of the device that they share.

}  // namespace

void row_delta(const float* o, const float* d_o, float* delta, const Shape& shape, cudaStream_t stream) {
  // A row of o and of d_o is 32, 64 or 128 numbers: a warp's work. What is left to do when each lane has
  // multiplied its own?
  throw course::NotImplemented("task 1, row_delta");
}

void add_key_gradients(const Block& block, float* dk, float* dv, const Shape& shape, cudaStream_t stream) {
  // A block of threads keeps some keys of one head and walks the queries, a tile at a time: p and ds meet in
  // shared memory, dK and dV grow in registers. Who adds them to device memory, and when?
  throw course::NotImplemented("task 2, add_key_gradients");
}

void add_gradients(const Block& block, float* dq, float* dk, float* dv, const Shape& shape,
                   cudaStream_t stream) {
  // Two blocks of threads with different keys add to the same dq_i. Either they add atomically, or somebody
  // else walks the keys.
  throw course::NotImplemented("task 3, add_gradients");
}

}  // namespace lesson11
