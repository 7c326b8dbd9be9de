#include <stdexcept>
#include <string>

#include "cuda_flash_forward.hpp"
#include "lesson/cuda_check.hpp"
#include "lesson/not_implemented.hpp"

namespace lesson10 {

namespace {

// Kernels, and what they call.

}  // namespace

void finish(const State& state, float* lse, const Shape& shape, cudaStream_t stream) {
  // A block of threads a query, a thread a column. Which queries have no l to divide by?
  throw course::NotImplemented("task 1, finish");
}

void attend_block(const float* q, const float* k, const float* v, const State& state, const Shape& shape,
                  cudaStream_t stream) {
  // A block of threads takes some queries of one head through all keys, a tile at a time. What has to lie in
  // shared memory, what can stay in registers, and between which two steps does everybody have to wait?
  throw course::NotImplemented("task 2, one block");
}

void attend_range(const float* q, const float* k, const float* v, const KeyRange& range, const State& state,
                  const Shape& shape, cudaStream_t stream) {
  // The same kernel. What becomes of the score of a key that a query does not see, and of m while it has
  // seen none? Which tiles does nobody see?
  throw course::NotImplemented("task 3, a range of keys a query");
}

}  // namespace lesson10
