#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/nccl/communicator.hpp"

namespace course::gpu::nccl {

/// What one call sends to one rank, or receives from it.
struct Message {
  bool is_send;
  int peer;  ///< in its communicator
  std::byte* data;
  std::size_t bytes;
};

/// A message on its way. Before its numbers stands what was called, by which the receiver sees whether both
/// mean the same. It is sent from, and arrives in, a room of its own.
class Transfer {
 public:
  Transfer(const Call& call, const Message& message) : call_(call), message_(message) {}
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void start();
  /// Whether it is complete; moves it as far as it goes without waiting.
  bool is_done();
  bool is_done_so_far() const { return is_done_; }
  PendingOperation pending(PendingOperation::Need need) const;

 private:
  bool has_begun_to_arrive();
  void unpack() const;

  Call call_;
  Message message_;
  int tag_ = 0;
  std::vector<std::byte> parcel_ = {};
  MPI_Request request_ = MPI_REQUEST_NULL;
  bool is_done_ = false;
};

std::size_t bytes_of(DataType type, std::size_t count);

/// The most bytes that a message may have.
std::size_t largest_message();

}  // namespace course::gpu::nccl
