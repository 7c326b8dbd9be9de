#pragma once

#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <map>
#include <stdexcept>
#include <string>

#include "player/adapter.hpp"

/// Programs of several ranks with a simulated GPU each. Those of right.cu write what they have computed into
/// outputs; those of wrong.cu make a mistake each, on lines that `// NAME` marks for the test.
namespace nccl_programs {

constexpr int n = 64;
constexpr size_t bytes = n * sizeof(float);

inline void check(cudaError_t error, int line = __builtin_LINE()) {
  if (error != cudaSuccess) throw std::runtime_error("a CUDA error on line " + std::to_string(line));
}
inline void check(ncclResult_t result, int line = __builtin_LINE()) {
  if (result != ncclSuccess)
    throw std::runtime_error(std::string(ncclGetErrorString(result)) + " on line " + std::to_string(line));
}

/// One rank: its communicators, streams that join with no other, events, device memory.
struct Rank {
  explicit Rank(course::Call& called) : call(called), mpi(call.communicator<MPI_Comm>()) {
    MPI_Comm_rank(mpi, &rank);
    MPI_Comm_size(mpi, &size);
    comm = join(mpi);
    for (cudaStream_t* const stream : {&compute, &transfer})
      check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    for (cudaEvent_t* const made : {&event, &other})
      check(cudaEventCreateWithFlags(made, cudaEventDisableTiming));
    for (float** const memory : {&x, &y, &z}) {
      check(cudaMalloc(memory, (size + 1) * bytes));
      check(cudaMemset(*memory, 0, (size + 1) * bytes));
    }
    check(cudaStreamSynchronize(0));
  }
  ~Rank() {
    if (comm) ncclCommDestroy(comm);
    for (const cudaStream_t stream : {compute, transfer}) cudaStreamDestroy(stream);
    for (const cudaEvent_t made : {event, other}) cudaEventDestroy(made);
    for (float* const memory : {x, y, z}) cudaFree(memory);
  }
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  /// An NCCL communicator of the ranks of one of MPI's.
  static ncclComm_t join(MPI_Comm mpi) {
    int own = 0, ranks = 0;
    MPI_Comm_rank(mpi, &own);
    MPI_Comm_size(mpi, &ranks);
    ncclUniqueId id;
    if (own == 0) check(ncclGetUniqueId(&id));
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, mpi);
    ncclComm_t made = nullptr;
    check(ncclCommInitRank(&made, ranks, id, own));
    return made;
  }

  int next() const { return (rank + 1) % size; }
  int previous() const { return (rank + size - 1) % size; }

  /// Behind all that is in the stream.
  void write(const char* name, const float* from, int count, cudaStream_t stream) {
    course::Tensor& to = call.output(name, {count});
    check(cudaMemcpyAsync(to.data(), from, count * sizeof(float), cudaMemcpyDeviceToHost, stream));
    check(cudaStreamSynchronize(stream));
  }

  course::Call& call;
  MPI_Comm mpi;
  int rank = 0, size = 1;
  ncclComm_t comm = nullptr;
  cudaStream_t compute, transfer;
  cudaEvent_t event, other;
  float *x, *y, *z;  ///< [size + 1, n] zeros
};

static __global__ void fill(float* to, float value) {
  to[threadIdx.x] = value + threadIdx.x;
}
[[maybe_unused]] static __global__ void add(float* to, const float* from) {
  to[threadIdx.x] += from[threadIdx.x];
}

course::Adapter right_programs();
course::Adapter wrong_programs();

}  // namespace nccl_programs
