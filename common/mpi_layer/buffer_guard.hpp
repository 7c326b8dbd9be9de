#pragma once

#include <cstddef>
#include <vector>

#include "mpi_layer/operation.hpp"

namespace course::mpi_layer {

/// Stands between a caller's buffer and the library while a nonblocking operation is open. The library works
/// on a copy, so that a buffer used too early shows always, not only when a message happens to be late:
///   a receive's buffer holds poison, whatever has arrived, until the operation is complete for its caller;
///   a send's message is what the buffer held when the send was started.
class BufferGuard {
 public:
  /// `callers` covers the buffer.
  BufferGuard(PendingOperation::Kind kind, Extent callers);

  /// What the library is given in its place.
  void* library_buffer() { return copy_.data(); }
  /// The operation is about to be started, a persistent one perhaps again.
  void arm();
  /// It is complete: what has arrived goes to the caller. Returns whether the caller has written to the
  /// buffer meanwhile.
  bool disarm();

 private:
  bool receives() const { return kind_ == PendingOperation::Kind::Receive; }

  PendingOperation::Kind kind_;
  std::byte* callers_;
  std::vector<std::byte> copy_;
};

}  // namespace course::mpi_layer
