#pragma once

#include "cuda_runtime.h"
#include "gpu/nccl/nccl.hpp"

// The part of NCCL that the simulator has, under the library's names. What is not here is a compile error.

using ncclResult_t = course::gpu::nccl::Result;
inline constexpr ncclResult_t ncclSuccess = ncclResult_t::Success;
inline constexpr ncclResult_t ncclUnhandledCudaError = ncclResult_t::UnhandledCudaError;
inline constexpr ncclResult_t ncclInternalError = ncclResult_t::InternalError;
inline constexpr ncclResult_t ncclInvalidArgument = ncclResult_t::InvalidArgument;
inline constexpr ncclResult_t ncclInvalidUsage = ncclResult_t::InvalidUsage;

using ncclDataType_t = course::gpu::nccl::DataType;
inline constexpr ncclDataType_t ncclInt8 = ncclDataType_t::Int8, ncclChar = ncclInt8;
inline constexpr ncclDataType_t ncclUint8 = ncclDataType_t::Uint8;
inline constexpr ncclDataType_t ncclInt32 = ncclDataType_t::Int32, ncclInt = ncclInt32;
inline constexpr ncclDataType_t ncclUint32 = ncclDataType_t::Uint32;
inline constexpr ncclDataType_t ncclInt64 = ncclDataType_t::Int64;
inline constexpr ncclDataType_t ncclUint64 = ncclDataType_t::Uint64;
inline constexpr ncclDataType_t ncclFloat16 = ncclDataType_t::Float16, ncclHalf = ncclFloat16;
inline constexpr ncclDataType_t ncclFloat32 = ncclDataType_t::Float32, ncclFloat = ncclFloat32;
inline constexpr ncclDataType_t ncclFloat64 = ncclDataType_t::Float64, ncclDouble = ncclFloat64;
inline constexpr ncclDataType_t ncclBfloat16 = ncclDataType_t::Bfloat16;

using ncclRedOp_t = course::gpu::nccl::Reduction;
inline constexpr ncclRedOp_t ncclSum = ncclRedOp_t::Sum;
inline constexpr ncclRedOp_t ncclProd = ncclRedOp_t::Product;
inline constexpr ncclRedOp_t ncclMax = ncclRedOp_t::Maximum;
inline constexpr ncclRedOp_t ncclMin = ncclRedOp_t::Minimum;
inline constexpr ncclRedOp_t ncclAvg = ncclRedOp_t::Average;

#define NCCL_UNIQUE_ID_BYTES 128
using ncclUniqueId = course::gpu::nccl::UniqueId;
using ncclComm_t = course::gpu::nccl::Communicator*;

inline const char* ncclGetErrorString(ncclResult_t result) {
  return course::gpu::nccl::error_text(result);
}
inline ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return course::gpu::nccl::make_unique_id(id);
}
inline ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank,
                                     int line = __builtin_LINE()) {
  return course::gpu::nccl::join(comm, ranks, id, rank, line);
}
inline ncclResult_t ncclCommDestroy(ncclComm_t comm, int line = __builtin_LINE()) {
  return course::gpu::nccl::leave(comm, line);
}
inline ncclResult_t ncclCommCount(ncclComm_t comm, int* ranks) {
  return course::gpu::nccl::size_of(comm, ranks);
}
inline ncclResult_t ncclCommUserRank(ncclComm_t comm, int* rank) {
  return course::gpu::nccl::rank_of(comm, rank);
}
/// Sends and receives report their errors at once, so that none is left for later.
inline ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* result) {
  *result = ncclSuccess;
  return ncclSuccess;
}

inline ncclResult_t ncclGroupStart(int line = __builtin_LINE()) {
  return course::gpu::nccl::begin_group(line);
}
inline ncclResult_t ncclGroupEnd() {
  return course::gpu::nccl::end_group();
}

inline ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer,
                             ncclComm_t comm, cudaStream_t stream, int line = __builtin_LINE()) {
  return course::gpu::nccl::send({"ncclSend", line, comm, stream, type, count}, from, peer);
}
inline ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                             cudaStream_t stream, int line = __builtin_LINE()) {
  return course::gpu::nccl::receive({"ncclRecv", line, comm, stream, type, count}, to, peer);
}
inline ncclResult_t ncclBroadcast(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                  int root, ncclComm_t comm, cudaStream_t stream,
                                  int line = __builtin_LINE()) {
  return course::gpu::nccl::broadcast({"ncclBroadcast", line, comm, stream, type, count}, from, to, root);
}
inline ncclResult_t ncclAllReduce(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                  ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream,
                                  int line = __builtin_LINE()) {
  return course::gpu::nccl::all_reduce({"ncclAllReduce", line, comm, stream, type, count}, from, to,
                                       reduction);
}
inline ncclResult_t ncclAllGather(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                  ncclComm_t comm, cudaStream_t stream, int line = __builtin_LINE()) {
  return course::gpu::nccl::all_gather({"ncclAllGather", line, comm, stream, type, count}, from, to);
}
inline ncclResult_t ncclReduceScatter(const void* from, void* to, std::size_t count, ncclDataType_t type,
                                      ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream,
                                      int line = __builtin_LINE()) {
  return course::gpu::nccl::reduce_scatter({"ncclReduceScatter", line, comm, stream, type, count}, from, to,
                                           reduction);
}
