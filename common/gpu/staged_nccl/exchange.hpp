#pragma once

#include <cuda_runtime.h>
#include <mpi.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// NCCL's calls where NCCL cannot be had, or will not have two ranks on one device: through the host's memory
/// and MPI, in stream order.
namespace course::gpu::staged {

/// A call of the runtime's failed.
struct CudaFailure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws CudaFailure unless a call of the runtime's succeeded.
void check(cudaError_t result, const char* call);

/// An event that measures no time.
class Event {
 public:
  Event();
  Event(Event&&) = delete;
  ~Event() { cudaEventDestroy(event_); }
  operator cudaEvent_t() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Pinned memory of the host. To allocate it may make the whole device wait, so that rooms are used again.
class Room {
 public:
  explicit Room(std::size_t bytes);
  Room(Room&&) = delete;
  ~Room() { cudaFreeHost(data_); }
  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_;
};

/// A room of at least so many bytes that nobody uses, or a new one.
std::unique_ptr<Room> take_room(std::size_t bytes);
/// Frees the rooms that nobody uses.
void free_rooms();

/// What one call of NCCL's asks for. Bytes may be 0 on either side.
struct Transfer {
  cudaStream_t stream;
  const void* from;  ///< on the device
  std::size_t bytes_from;
  void* to;
  std::size_t bytes_to;
  /// Begins it between two rooms of the host.
  std::function<MPI_Request(const void* from, void* to, MPI_Comm comm)> begin;
  MPI_Comm comm = MPI_COMM_NULL;
};

/// Transfers that begin and end together.
class Exchange {
 public:
  /// Puts them into their streams, behind what these and `earlier` hold. Throws CudaFailure.
  Exchange(std::vector<Transfer> transfers, std::span<const cudaEvent_t> earlier);
  /// Waits until they are done.
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  cudaEvent_t done() const { return done_; }
  bool is_done() const { return cudaEventQuery(done_) == cudaSuccess; }

 private:
  void run();
  std::vector<cudaStream_t> streams() const;

  std::vector<Transfer> transfers_;
  std::vector<std::unique_ptr<Room>> from_, to_;  ///< of each transfer
  Event done_;
};

}  // namespace course::gpu::staged
