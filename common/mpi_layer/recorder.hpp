#pragma once

#include <mpi.h>

#include <functional>
#include <memory>

#include "mpi_layer/journal.hpp"
#include "mpi_layer/overlap.hpp"
#include "mpi_layer/waiting.hpp"

namespace course::mpi_layer {

using RequestStarter = std::function<int(MPI_Request*)>;

/// One rank's case between begin() and end(): its operations from their start to their completion, and what
/// is known of them besides. The locks are taken from the outside inwards: open, then journal.
class Recorder {
 public:
  Recorder(MPI_Comm comm, Options given, RankStatus* watched);
  Report finish();

  const Options options;
  Journal journal;
  OpenRequests open;
  Overlap overlap{open, journal, options.delay_tests};
  Waiting waiting{*this};

  /// What is known of comm; every wrapper that is given a communicator passes here.
  std::shared_ptr<Communicator> enter(const char* call, MPI_Comm comm);
  /// Forgets a communicator that is about to be freed. Throws std::invalid_argument when its caller needs it.
  void forget(const char* call, MPI_Comm comm);

  /// A send or a receive about to be started, its peer checked.
  Operation prepare(Kind kind, const Message& message);
  Operation prepare_collective(const char* call, const std::shared_ptr<Communicator>& communicator,
                               std::int64_t bytes, int root);
  /// What the library is given for the caller's buffer: that, or what stands between. A receive's buffer was
  /// given for writing.
  void* guarded(Operation& operation, const void* buffer) const;
  /// Starts the operation and keeps it until it completes; returns its request.
  MPI_Request start(Operation operation, const RequestStarter& starter);
  /// Keeps a persistent operation, not started.
  void keep_persistent(Operation operation, MPI_Request request);
  /// Says that a persistent request is about to be started.
  void activate(const char* call, MPI_Request request);
  /// Takes a request from a caller who frees it.
  void release(MPI_Request* request);

  /// The caller has been told that the operation is complete, and keeps its request.
  void hand_over(MPI_Request request);
  /// The same of one whose request is over with that.
  void complete(MPI_Request request, const MPI_Status& status);
  /// Throws what the library says about a failed operation, which is over with that.
  [[noreturn]] void throw_failure(int code, MPI_Request request, const MPI_Status& status);
  /// Adds a message that has come to its end to the sums by which the judge sees that both of its ends know.
  void enter_arrival(Operation& operation, const MPI_Status& status);

 private:
  void check_peer(const Operation& operation);
  void check_overlap(Operation& operation);
  void hand_over(Operation& operation);
  void close(Operation& operation);

  Communicators communicators_;
};

/// The recorder between begin() and end(), else null.
Recorder* watching();

}  // namespace course::mpi_layer
