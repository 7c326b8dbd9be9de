#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace course::mpi_layer {

/// What the recorder needs to know about a communicator.
struct Communicator {
  std::uint64_t id = 0;  ///< equal on all its ranks, different from other communicators'
  int rank = 0;
  int size = 0;
  bool is_foreign_world = false;  ///< MPI_COMM_WORLD where that is not the case's communicator
  std::vector<int> case_ranks;    ///< by its ranks: the rank in the case's communicator, or outside_peer
  int collectives_started = 0;
};

/// The communicators seen in a case. Every one of them returns its errors instead of ending the process.
class Communicators {
 public:
  explicit Communicators(MPI_Comm case_comm);
  ~Communicators();
  Communicators(const Communicators&) = delete;
  Communicators& operator=(const Communicators&) = delete;

  /// Looks the communicator up; one that is not known yet is taken in. Those that ranks make together must be
  /// looked up when they are made, so that all ranks number them in the same order.
  /// @throws std::invalid_argument naming `call` for a null communicator.
  std::shared_ptr<Communicator> find(const char* call, MPI_Comm comm);

  bool belongs_to_caller(MPI_Comm comm) const;
  void forget(MPI_Comm comm) { known_.erase(comm); }

 private:
  std::shared_ptr<Communicator> take_in(MPI_Comm comm);
  void return_errors(MPI_Comm comm);

  MPI_Comm case_comm_;
  MPI_Group case_group_ = MPI_GROUP_NULL;
  MPI_Group world_group_ = MPI_GROUP_NULL;
  std::vector<std::pair<MPI_Comm, MPI_Errhandler>> former_handlers_;
  std::map<MPI_Comm, std::shared_ptr<Communicator>> known_;
  std::map<std::uint64_t, int> made_from_group_;
};

/// Mixes a word into a hash (a linear step, then the finaliser of splitmix64).
std::uint64_t mix(std::uint64_t hash, std::uint64_t word);

}  // namespace course::mpi_layer
