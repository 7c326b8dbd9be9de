#include "mpi_layer/communicators.hpp"

#include <numeric>
#include <stdexcept>
#include <string>

#include "protocol/status_page.hpp"

namespace course::mpi_layer {

namespace {

/// The ranks of `group` as ranks of `other`, `missing` for those that are not in it.
std::vector<int> translate(MPI_Group group, MPI_Group other, int missing) {
  int size = 0;
  PMPI_Group_size(group, &size);
  std::vector<int> ranks(size);
  std::vector<int> translated(size);
  std::iota(ranks.begin(), ranks.end(), 0);
  PMPI_Group_translate_ranks(group, size, ranks.data(), other, translated.data());
  for (int& rank : translated) {
    if (rank == MPI_UNDEFINED) rank = missing;
  }
  return translated;
}

}  // namespace

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  // The odd constant keeps small numbers apart, which would cancel, and off 0, which the rest maps to itself.
  hash = hash * 0x100000001b3ULL + word + 0x9e3779b97f4a7c15ULL;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
  return hash ^ (hash >> 31);
}

Communicators::Communicators(MPI_Comm case_comm) : case_comm_(case_comm) {
  PMPI_Comm_group(case_comm, &case_group_);
  PMPI_Comm_group(MPI_COMM_WORLD, &world_group_);
  take_in(case_comm)->id = case_communicator;
  if (case_comm != MPI_COMM_WORLD) take_in(MPI_COMM_WORLD)->is_foreign_world = true;
  // The library raises errors of calls that name no communicator on one of these two.
  if (case_comm != MPI_COMM_SELF) take_in(MPI_COMM_SELF);
}

Communicators::~Communicators() {
  for (auto& [comm, handler] : former_handlers_) {
    PMPI_Comm_set_errhandler(comm, handler);
    PMPI_Errhandler_free(&handler);
  }
  PMPI_Group_free(&case_group_);
  PMPI_Group_free(&world_group_);
}

std::shared_ptr<Communicator> Communicators::find(const char* call, MPI_Comm comm) {
  if (comm == MPI_COMM_NULL)
    throw std::invalid_argument(std::string(call) + " was called with MPI_COMM_NULL");
  const auto found = known_.find(comm);
  return found != known_.end() ? found->second : take_in(comm);
}

bool Communicators::belongs_to_caller(MPI_Comm comm) const {
  return comm == case_comm_ || comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF;
}

std::shared_ptr<Communicator> Communicators::take_in(MPI_Comm comm) {
  return_errors(comm);
  auto taken = std::make_shared<Communicator>();
  PMPI_Comm_rank(comm, &taken->rank);
  PMPI_Comm_size(comm, &taken->size);
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  taken->case_ranks = translate(group, case_group_, outside_peer);
  std::uint64_t hash = 0;
  for (const int world_rank : translate(group, world_group_, outside_peer)) hash = mix(hash, world_rank);
  PMPI_Group_free(&group);
  taken->id = mix(hash, ++made_from_group_[hash]);
  known_[comm] = taken;
  return taken;
}

/// The caller's communicators get their former handlers back in the end; those made in the case never had
/// another.
void Communicators::return_errors(MPI_Comm comm) {
  if (belongs_to_caller(comm)) {
    MPI_Errhandler former = MPI_ERRHANDLER_NULL;
    PMPI_Comm_get_errhandler(comm, &former);
    former_handlers_.emplace_back(comm, former);
  }
  PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

}  // namespace course::mpi_layer
