#include <algorithm>
#include <utility>

#include "cuda_ring.hpp"
#include "lesson/cuda_check.hpp"
#include "lesson/nccl_check.hpp"
#include "lesson/not_implemented.hpp"

namespace lesson12 {

using course::cuda_check;
using course::nccl_check;

ncclComm_t connect(MPI_Comm mpi) {
  // Who calls ncclGetUniqueId, and how does everybody else get what it returns?
  throw course::NotImplemented("task 1, connect");
}

void ring_attention(const float* k, const float* v, const Shards& shards, const Block& block, ncclComm_t comm,
                    cudaStream_t stream) {
  // Two streams, two rooms. Which event does the work on a block wait for? Which does the next transfer,
  // before it fills a room? What has to have happened before the rooms are freed?
  throw course::NotImplemented("task 2, ring_attention");
}

void ring_backward(const float* k, const float* v, float* dk, float* dv, const Shards& shards,
                   const BlockBackward& block, ncclComm_t comm, cudaStream_t stream) {
  // Keys and values as in task 2. Which room is written to by a stream while the other one reads it? When
  // is a sum complete, and which event says so to the transfer that sends it on?
  throw course::NotImplemented("task 3, ring_backward");
}

}  // namespace lesson12
