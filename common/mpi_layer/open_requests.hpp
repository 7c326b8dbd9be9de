#pragma once

#include <list>
#include <map>
#include <mutex>

#include "mpi_layer/operation.hpp"

namespace course::mpi_layer {

/// A request that the caller waits for or tests, in the caller's own variable.
struct Waited {
  enum class State {
    Absent,
    Open,
    Complete
  };  ///< Absent: a null request, or a persistent one that is not started
  MPI_Request* request;
  State state = State::Open;
  MPI_Status status{};
  bool delayed = false;  ///< a test of it finds nothing this time
};

/// The operations that have a request, in the order in which they were started. lock() is held by whoever
/// looks at them or changes them, and never while the library waits for another rank, so that a second thread
/// may make progress meanwhile.
class OpenRequests {
 public:
  using Guard = std::lock_guard<std::mutex>;
  std::mutex& lock() { return mutex_; }

  /// The one that its caller knows by this request; null when none is. The library may give one request to
  /// several, as it does for those with MPI_PROC_NULL: then the first.
  Operation* find(MPI_Request request);
  Operation& add(Operation operation);
  /// Of one that add() or find() returned.
  void remove(const Operation& operation);
  /// Its caller has given the request up, and the library may give it to another.
  void release(Operation& operation);
  /// All of them, at the end of the case.
  std::list<Operation> take();

  std::list<Operation>::iterator begin() { return operations_.begin(); }
  std::list<Operation>::iterator end() { return operations_.end(); }

 private:
  using ByRequest = std::multimap<MPI_Request, std::list<Operation>::iterator>;
  ByRequest::iterator entry_of(const Operation& operation);

  std::mutex mutex_;
  std::list<Operation> operations_;
  ByRequest by_request_;
};

}  // namespace course::mpi_layer
