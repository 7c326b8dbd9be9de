#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "protocol/status_page.hpp"

namespace course::mpi_layer {

using Kind = PendingOperation::Kind;
using Need = PendingOperation::Need;

/// What the recorder needs to know about a communicator.
struct Communicator {
  /// Equal on all its ranks, different from other communicators'; unknown_communicator where nobody follows
  /// the call that made it.
  std::uint64_t id = unknown_communicator;
  std::uint64_t group_hash = 0;  ///< of its ranks in the world
  int rank = 0;
  int size = 0;
  /// 1: the case's; from 2 on those that the function made; 0: of those it did not, such as MPI_COMM_SELF.
  int number = 0;
  bool is_foreign_world = false;  ///< MPI_COMM_WORLD where that is not the case's communicator
  std::vector<int> case_ranks;    ///< by its ranks: the rank in the case's communicator, or outside_peer
  int collectives_started = 0;
  std::uint64_t awaited = 0;  ///< of the last of them, as in KnownCommunicator

  /// A bit for the case's rank of each other member that `counts`.
  std::uint64_t bits_of_others(const std::function<bool(int member)>& counts) const;
  KnownCommunicator shown() const;
};

/// What a page tells of the communicators that a function was given or made.
struct ShownCommunicators {
  std::int64_t count = 0;
  std::vector<KnownCommunicator> told = {};
};

/// The communicators seen in a case. Every one of them returns its errors instead of ending the process.
class Communicators {
 public:
  explicit Communicators(MPI_Comm case_comm);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// Looks the communicator up. Of one that is not known, since nobody follows the call that made it, as
  /// MPI_Comm_idup's, nothing is known but its ranks: two ranks cannot tell that they mean the same one.
  /// @throws std::invalid_argument naming `call` for a null communicator.
  std::shared_ptr<Communicator> find(const char* call, MPI_Comm comm);

  /// One that its members have just made together: all of them number theirs in the same order.
  void take_in_made(MPI_Comm comm);

  /// That of MPI_Comm_create_group's callers, who alone make a communicator together: as if they had one.
  std::shared_ptr<Communicator> of_group(MPI_Group group);

  bool belongs_to_caller(MPI_Comm comm) const;
  /// Those of these operations first.
  ShownCommunicators shown(const std::vector<PendingOperation>& pending) const;
  void forget(MPI_Comm comm) { known_.erase(comm); }

 private:
  std::shared_ptr<Communicator> take_in(MPI_Comm comm);
  /// Gives it an id. All its ranks do so for communicators of one group in the same order.
  Communicator& identify(Communicator& taken);
  /// The rank, the size and the members of the group; returns a hash of those.
  std::uint64_t describe_group(MPI_Group group, Communicator& described) const;
  void return_errors(MPI_Comm comm);

  MPI_Comm case_comm_;
  MPI_Group case_group_ = MPI_GROUP_NULL;
  MPI_Group world_group_ = MPI_GROUP_NULL;
  std::vector<std::pair<MPI_Comm, MPI_Errhandler>> former_handlers_;
  std::map<MPI_Comm, std::shared_ptr<Communicator>> known_;
  std::map<std::uint64_t, int> made_from_group_;
  int numbered_ = 0;
  std::map<std::uint64_t, std::shared_ptr<Communicator>> of_groups_;
  /// The case's and those that the function made, freed ones too, whose collectives others may still be in.
  std::vector<std::shared_ptr<const Communicator>> seen_;
};

/// Mixes a word into a hash (a linear step, then the finaliser of splitmix64).
std::uint64_t mix(std::uint64_t hash, std::uint64_t word);

/// The arguments of a send or a receive. `call` is the name the caller used.
struct Message {
  const char* call;
  const void* buffer;
  int count;
  MPI_Datatype type;
  int peer;
  int tag;
  MPI_Comm comm;
};

/// Whether something has no address to be at. (A derived type may name its addresses itself.)
bool is_nowhere(const Message& message);

/// The bytes that a buffer covers; empty (begin null) when its type has gaps, which only the library could
/// check.
struct Extent {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  bool overlaps(const Extent& other) const { return begin < other.end && other.begin < end; }
};

/// What `count` elements from `buffer` on cover; nothing of MPI_IN_PLACE.
Extent extent_of(const void* buffer, std::int64_t count, MPI_Datatype type);

/// Stands between a caller's buffer and the library while a nonblocking operation is open. The library works
/// on a copy, so that a buffer used too early shows always, not only when a message happens to be late:
///   a receive's buffer holds poison, whatever has arrived, until the operation is complete for its caller;
///   a send's message is what the buffer held when the send was started.
class BufferGuard {
 public:
  /// `callers` covers the buffer.
  BufferGuard(Kind kind, Extent callers);

  /// What the library is given in its place.
  void* library_buffer() { return copy_.data(); }
  /// The operation is about to be started, a persistent one perhaps again.
  void arm();
  /// It is complete: what has arrived goes to the caller. Returns whether the caller has written to the
  /// buffer meanwhile.
  bool disarm();

 private:
  Kind kind_;
  std::byte* callers_;
  std::pmr::vector<std::byte> copy_;
};

/// What is told of an operation.
struct Description {
  Kind kind;
  const char* call;
  int peer;
  int tag;
  std::int64_t bytes;

  /// "MPI_Recv from rank 2 (tag 0, 8 bytes)"
  std::string text() const;
};

/// How many calls have made progress while a block was computed.
struct ProgressCalls {
  std::uint64_t all = 0;
  std::uint64_t beside = 0;  ///< of another thread than the one that computes
};

/// One operation between its start and its completion, or a persistent one that may be started again.
struct Operation {
  Kind kind = Kind::Send;
  const char* call = "";
  std::shared_ptr<const Communicator> communicator = {};
  int peer = MPI_PROC_NULL;  ///< in its communicator; a collective's root, or MPI_PROC_NULL
  int tag = 0;               ///< of a collective its number on the communicator
  std::int64_t bytes = 0;
  Extent extent = {};
  std::shared_ptr<const std::vector<char>> copy =
      {};  ///< what is sent, where that is not the caller's buffer
  MPI_Request request = MPI_REQUEST_NULL;
  bool persistent = false;
  bool active = true;                       ///< false for a persistent one that is not started
  bool internal = false;                    ///< its request was never in the caller's hands
  bool released = false;                    ///< the caller gave its request up with MPI_Request_free
  bool summed = false;                      ///< its completion is in the page's sums already
  std::shared_ptr<BufferGuard> guard = {};  ///< holds what the library works on; null without one
  bool misused = false;                     ///< its buffer was, and a fact has said so
  bool handed_over = false;                 ///< its caller knows that it is complete
  int computations = 0;                     ///< begun since it was started
  ProgressCalls progress_before = {};       ///< when it was started
  int tiles = 0;                            ///< of its computations, so far
  std::uint64_t progress_at_tile = 0;       ///< ProgressCalls::all after the last of them
  int tiles_alone = 0;                      ///< the last of them, with no such call in between
  int most_tiles_alone = 0;
  int early_tests = 0;            ///< before the first of them, or since the last of its tiles
  bool tested = false;            ///< since it was started
  std::thread::id asked_by = {};  ///< the last thread that waited for it or tested it

  bool is_message() const { return kind != Kind::Collective && bytes > 0 && peer != MPI_PROC_NULL; }
  /// Whether a call that waits for it, or tests it, may have to look for it, and so moves what is open: not
  /// where nothing is sent, where this rank is alone, and where it only gives.
  bool may_be_looked_for() const;
  /// Under way, as far as its caller knows.
  bool is_awaited() const { return is_message() && !handed_over; }
  /// The peer as a rank of the case's communicator.
  int case_peer() const;
  PendingOperation pending(const char* waiting_call, Need need) const;
  Description description() const { return {kind, call, peer, tag, bytes}; }
  /// Description::text()
  std::string text() const { return description().text(); }
};

/// count * PMPI_Type_size; 0 for a negative count, which the library will refuse.
std::int64_t bytes_of(std::int64_t count, MPI_Datatype type);

Operation describe(Kind kind, const Message& message, std::shared_ptr<const Communicator> communicator);
/// One that may be met by anything.
Operation unknown_operation(const char* call);

/// " to rank 2" or " from any rank" or nothing for a collective; `peer` as in MPI calls.
std::string direction(Kind kind, int peer);

/// Throws std::runtime_error "CONTEXT: the library's text".
[[noreturn]] void throw_error(int code, const std::string& context);
/// Throws it, unless the code is MPI_SUCCESS, of the call or the operation.
void check(int code, const char* call);
void check(int code, const Operation& operation);

}  // namespace course::mpi_layer
