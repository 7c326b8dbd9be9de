#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
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

/// A message on its way: a header, which waits for the receive to begin and by which the receiver sees
/// whether both mean the same, and then the numbers.
class Transfer {
 public:
  Transfer(const Call& call, const Message& message);
  ~Transfer() = default;
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  void start();
  /// Whether it is complete; never waits.
  bool is_done();
  PendingOperation pending() const;

 private:
  struct Header {
    std::array<char, 24> call;
    int line, type, data_tag;
    std::uint64_t bytes;
  };

  void receive_numbers();
  void look_for_mismatch() const;

  Call call_;
  Message message_;
  Header header_{};
  std::vector<std::byte> misfit_ = {};  ///< what arrives where as much is not expected
  MPI_Request header_request_ = MPI_REQUEST_NULL;
  MPI_Request data_request_ = MPI_REQUEST_NULL;
  bool has_header_ = false;
  bool done_ = false;
};

std::size_t bytes_of(DataType type, std::size_t count);

}  // namespace course::gpu::nccl
