#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "gpu/nccl/meeting.hpp"
#include "gpu/simulator/host/streams.hpp"
#include "protocol/status_page.hpp"

/// NCCL between simulated GPUs: what include/nccl.h calls. Messages go through MPI, on communicators of their
/// own and past the MPI layer, so that nobody counts them as the lesson's. A send completes only when its
/// receive has begun. Calls do their work in stream order. Source: NCCL user guide 2.28, chapters "Using
/// NCCL", "Point-to-point communication" and "API".
namespace course::gpu::nccl {

/// With the library's own numbers.
enum class Result {
  Success = 0,
  UnhandledCudaError = 1,
  InternalError = 3,
  InvalidArgument = 4,
  InvalidUsage = 5,
};
enum class DataType { Int8, Uint8, Int32, Uint32, Int64, Uint64, Float16, Float32, Float64, Bfloat16 };
enum class Reduction { Sum, Product, Maximum, Minimum, Average };

struct UniqueId {
  char internal[id_bytes];
};

class Communicator;

/// What all communication calls have in common. `count` is in numbers of `type`.
struct Call {
  const char* name;
  int line;
  Communicator* comm;
  Stream* stream;
  DataType type;
  std::size_t count;
};

const char* error_text(Result result);

Result make_unique_id(UniqueId* id);
/// Returns when all `ranks` have come.
Result join(Communicator** comm, int ranks, const UniqueId& id, int rank, int line);
Result leave(Communicator* comm, int line);
Result size_of(Communicator* comm, int* ranks);
Result rank_of(Communicator* comm, int* rank);

/// What is called in between begins with the outermost end, all of it together; nothing of it waits for
/// another part. The streams named go on when all of it is done.
Result begin_group(int line);
Result end_group();

Result send(const Call& call, const void* from, int peer);
Result receive(const Call& call, void* to, int peer);
Result broadcast(const Call& call, const void* from, void* to, int root);
Result all_reduce(const Call& call, const void* from, void* to, Reduction reduction);
/// `count` from each rank.
Result all_gather(const Call& call, const void* from, void* to);
/// `count` for each rank.
Result reduce_scatter(const Call& call, const void* from, void* to, Reduction reduction);

/// What a call, or a group of calls, has moved point to point, and the kernels that a device may run
/// meanwhile (kernels_beside() of operations.hpp).
struct GroupTraffic {
  std::string call = {};
  std::int64_t bytes_sent = 0, bytes_received = 0;
  std::vector<std::string> beside = {};
};

/// What a rank has sent by ncclSend, by rank of the case's communicator, and received in collectives.
struct Traffic {
  std::map<int, std::int64_t> bytes_sent_to = {};
  std::int64_t collective_bytes = 0;
  std::vector<GroupTraffic> groups = {};
};

/// A case begins, whose ranks are those of this communicator; all of them call it. `completed` is told of
/// every message that has come to its end on this rank.
void begin(MPI_Comm case_comm, std::function<void(const PendingOperation& message)> completed);
/// What of this rank's is under way, and whether the host waits for it.
std::vector<PendingOperation> pending();
/// Behind the end of all that was put into streams, if the case has `finished`.
Traffic end(bool finished);

}  // namespace course::gpu::nccl
