#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "gpu/nccl/meeting.hpp"
#include "gpu/staged_nccl/exchange.hpp"

using course::gpu::staged::CudaFailure;
using course::gpu::staged::Exchange;
using course::gpu::staged::Transfer;
namespace nccl = course::gpu::nccl;
namespace staged = course::gpu::staged;

/// One rank's end of a communicator.
struct ncclComm {
  MPI_Comm mpi = MPI_COMM_NULL;
  int rank = 0, size = 1;
  std::vector<std::shared_ptr<Exchange>> exchanges = {};  ///< in their order; those that are done go in time
};

namespace {

/// Between ncclGroupStart and ncclGroupEnd: what was called, and on which communicators.
struct Group {
  int depth = 0;
  std::vector<Transfer> transfers = {};
  std::vector<ncclComm_t> comms = {};
};
thread_local Group group;

int ids_made = 0;

/// What NCCL would answer with `result`.
struct Refusal : std::runtime_error {
  explicit Refusal(const std::string& what, ncclResult_t answer = ncclInvalidArgument)
      : std::runtime_error(what), result(answer) {}
  ncclResult_t result;
};

template <class Function>
ncclResult_t answered(Function&& function) {
  try {
    function();
    return ncclSuccess;
  } catch (const Refusal& refusal) {
    std::fprintf(stderr, "NCCL through the host: %s\n", refusal.what());
    return refusal.result;
  } catch (const CudaFailure& failure) {
    std::fprintf(stderr, "NCCL through the host: %s\n", failure.what());
    return ncclUnhandledCudaError;
  }
}

ncclComm& known(ncclComm_t comm) {
  if (comm == nullptr) throw Refusal("a call is given no communicator");
  return *comm;
}

/// Begins what the group holds, behind what its communicators have under way: messages between two ranks meet
/// in the order of calls, whatever their streams.
void begin_transfers() {
  std::vector<cudaEvent_t> earlier;
  for (ncclComm* comm : group.comms) {
    std::erase_if(comm->exchanges, [](const auto& exchange) { return exchange->is_done(); });
    if (!comm->exchanges.empty()) earlier.push_back(comm->exchanges.back()->done());
  }
  const Group begun = std::exchange(group, {});
  const auto exchange = std::make_shared<Exchange>(begun.transfers, earlier);
  for (ncclComm* comm : begun.comms) comm->exchanges.push_back(exchange);
}

void add(ncclComm& comm, Transfer transfer) {
  constexpr auto most = static_cast<std::size_t>(std::numeric_limits<int>::max());
  if (transfer.bytes_from > most || transfer.bytes_to > most)
    throw Refusal("a message has more than 2147483647 bytes");
  transfer.comm = comm.mpi;
  group.transfers.push_back(std::move(transfer));
  group.comms.push_back(&comm);
  if (group.depth == 0) begin_transfers();
}

/// MPI's name of a type, MPI_DATATYPE_NULL where it has none.
MPI_Datatype mpi_type(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
      return MPI_INT8_T;
    case ncclUint8:
      return MPI_UINT8_T;
    case ncclInt32:
      return MPI_INT32_T;
    case ncclUint32:
      return MPI_UINT32_T;
    case ncclInt64:
      return MPI_INT64_T;
    case ncclUint64:
      return MPI_UINT64_T;
    case ncclFloat32:
      return MPI_FLOAT;
    case ncclFloat64:
      return MPI_DOUBLE;
    default:
      return MPI_DATATYPE_NULL;
  }
}

std::size_t size_of(ncclDataType_t type) {
  if (type == ncclFloat16 || type == ncclBfloat16) return 2;
  const MPI_Datatype known = mpi_type(type);
  int bytes = 1;
  if (known != MPI_DATATYPE_NULL) PMPI_Type_size(known, &bytes);
  return static_cast<std::size_t>(bytes);
}

MPI_Op mpi_operation(ncclRedOp_t reduction) {
  switch (reduction) {
    case ncclSum:
      return MPI_SUM;
    case ncclProd:
      return MPI_PROD;
    case ncclMax:
      return MPI_MAX;
    case ncclMin:
      return MPI_MIN;
    default:
      return MPI_OP_NULL;
  }
}

void require_reduction(ncclDataType_t type, ncclRedOp_t reduction) {
  if (mpi_type(type) == MPI_DATATYPE_NULL || mpi_operation(reduction) == MPI_OP_NULL)
    throw Refusal("sums, products, maxima and minima of integers, float32 and float64 alone");
}

/// Messages go from a thread of the runtime's.
void require_threads() {
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE)
    throw Refusal("MPI has to be initialised with MPI_THREAD_MULTIPLE", ncclInvalidUsage);
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error";
    case ncclInvalidArgument:
      return "invalid argument";
    case ncclInvalidUsage:
      return "invalid usage";
    default:
      return "internal error";
  }
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return answered([&] {
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (ids_made == nccl::most_meetings) throw Refusal("too many unique ids were made");
    nccl::write_id(nccl::new_meeting(rank, ids_made++), id->internal);
  });
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return answered([&] {
    nccl::Meeting meeting{};
    if (nccl::read_id(id.internal, meeting) != nccl::IdState::Whole)
      throw Refusal("ncclCommInitRank is given an id that ncclGetUniqueId has not made");
    require_threads();
    int host_rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &host_rank);
    const auto wait = [](MPI_Request request, bool, int) { PMPI_Wait(&request, MPI_STATUS_IGNORE); };
    const std::vector<nccl::Guest> guests =
        nccl::meet(meeting, {rank, ranks, host_rank, meeting.stamp}, MPI_COMM_WORLD, wait);
    if (!nccl::agree(guests) || !nccl::have_one_id(guests))
      throw Refusal("the ranks that use this id do not agree on who is which rank");
    *comm = new ncclComm{nccl::communicator_of(guests, meeting, MPI_COMM_WORLD), rank, ranks};
  });
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return answered([&] {
    ncclComm& left = known(comm);
    left.exchanges.clear();
    staged::free_rooms();
    PMPI_Comm_free(&left.mpi);
    delete comm;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* ranks) {
  return answered([&] { *ranks = known(comm).size; });
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return answered([&] { *rank = known(comm).rank; });
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* result) {
  *result = ncclSuccess;
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++group.depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  return answered([] {
    if (group.depth == 0) throw Refusal("ncclGroupEnd without an ncclGroupStart", ncclInvalidUsage);
    if (--group.depth == 0 && !group.transfers.empty()) begin_transfers();
  });
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return answered([&] {
    const std::size_t bytes = count * size_of(type);
    add(known(comm), {stream, from, bytes, nullptr, 0, [=](const void* own, void*, MPI_Comm mpi) {
                        MPI_Request request = MPI_REQUEST_NULL;
                        PMPI_Isend(own, static_cast<int>(bytes), MPI_BYTE, peer, 0, mpi, &request);
                        return request;
                      }});
  });
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return answered([&] {
    const std::size_t bytes = count * size_of(type);
    add(known(comm), {stream, nullptr, 0, to, bytes, [=](const void*, void* room, MPI_Comm mpi) {
                        MPI_Request request = MPI_REQUEST_NULL;
                        PMPI_Irecv(room, static_cast<int>(bytes), MPI_BYTE, peer, 0, mpi, &request);
                        return request;
                      }});
  });
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return answered([&] {
    const std::size_t bytes = count * size_of(type);
    const std::size_t own_bytes = known(comm).rank == root ? bytes : 0;
    add(*comm, {stream, from, own_bytes, to, bytes, [=](const void* own, void* room, MPI_Comm mpi) {
                  std::copy_n(static_cast<const std::byte*>(own), own_bytes, static_cast<std::byte*>(room));
                  MPI_Request request = MPI_REQUEST_NULL;
                  PMPI_Ibcast(room, static_cast<int>(bytes), MPI_BYTE, root, mpi, &request);
                  return request;
                }});
  });
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
  return answered([&] {
    require_reduction(type, reduction);
    const std::size_t bytes = count * size_of(type);
    add(known(comm), {stream, from, bytes, to, bytes, [=](const void* own, void* room, MPI_Comm mpi) {
                        MPI_Request request = MPI_REQUEST_NULL;
                        PMPI_Iallreduce(own, room, static_cast<int>(count), mpi_type(type),
                                        mpi_operation(reduction), mpi, &request);
                        return request;
                      }});
  });
}

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return answered([&] {
    const std::size_t bytes = count * size_of(type);
    const std::size_t all_bytes = bytes * static_cast<std::size_t>(known(comm).size);
    add(*comm, {stream, from, bytes, to, all_bytes, [=](const void* own, void* room, MPI_Comm mpi) {
                  MPI_Request request = MPI_REQUEST_NULL;
                  PMPI_Iallgather(own, static_cast<int>(bytes), MPI_BYTE, room, static_cast<int>(bytes),
                                  MPI_BYTE, mpi, &request);
                  return request;
                }});
  });
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t reduction, ncclComm_t comm, cudaStream_t stream) {
  return answered([&] {
    require_reduction(type, reduction);
    const std::size_t bytes = count * size_of(type);
    const std::size_t all_bytes = bytes * static_cast<std::size_t>(known(comm).size);
    add(*comm, {stream, from, all_bytes, to, bytes, [=](const void* own, void* room, MPI_Comm mpi) {
                  MPI_Request request = MPI_REQUEST_NULL;
                  PMPI_Ireduce_scatter_block(own, room, static_cast<int>(count), mpi_type(type),
                                             mpi_operation(reduction), mpi, &request);
                  return request;
                }});
  });
}

}  // extern "C"
