#include "mpi_layer/operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <utility>

#include "mpi_layer/own_memory.hpp"
#include "protocol/poison.hpp"

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

std::int32_t pending_peer(const Operation& operation) {
  if (operation.kind == Kind::Collective && operation.peer < 0) return any_peer;
  return operation.peer == MPI_ANY_SOURCE ? any_peer : operation.case_peer();
}

constexpr auto guard_bytes = std::bit_cast<std::array<std::byte, 4>>(poison::open_receive);

}  // namespace

/// Derived types whose elements do not lie side by side are left out: their gaps may belong to somebody else.
Extent extent_of(const void* buffer, std::int64_t count, MPI_Datatype type) {
  int size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_lower = 0;
  MPI_Aint true_extent = 0;
  if (buffer == nullptr || buffer == MPI_IN_PLACE || count <= 0) return {};
  if (PMPI_Type_size(type, &size) != MPI_SUCCESS) return {};
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
  if (lower != 0 || true_lower != 0 || size != extent || size != true_extent) return {};
  const auto* begin = static_cast<const std::byte*>(buffer);
  return {begin, begin + count * size};
}

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
  take_in_made(case_comm);
  known_[case_comm]->id = case_communicator;
  if (case_comm != MPI_COMM_WORLD) identify(*take_in(MPI_COMM_WORLD)).is_foreign_world = true;
  // The library raises errors of calls that name no communicator on one of these two.
  if (case_comm != MPI_COMM_SELF) identify(*take_in(MPI_COMM_SELF));
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
  if (found != known_.end()) return found->second;
  return take_in(comm);
}

void Communicators::take_in_made(MPI_Comm comm) {
  const std::shared_ptr<Communicator> made = take_in(comm);
  identify(*made).number = ++numbered_;
  seen_.push_back(made);
}

bool Communicators::belongs_to_caller(MPI_Comm comm) const {
  return comm == case_comm_ || comm == MPI_COMM_WORLD || comm == MPI_COMM_SELF;
}

std::uint64_t Communicators::describe_group(MPI_Group group, Communicator& described) const {
  PMPI_Group_rank(group, &described.rank);
  PMPI_Group_size(group, &described.size);
  described.case_ranks = translate(group, case_group_, outside_peer);
  std::uint64_t hash = 0;
  for (const int world_rank : translate(group, world_group_, outside_peer)) hash = mix(hash, world_rank);
  return hash;
}

std::shared_ptr<Communicator> Communicators::take_in(MPI_Comm comm) {
  return_errors(comm);
  auto taken = std::make_shared<Communicator>();
  MPI_Group group = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  taken->group_hash = describe_group(group, *taken);
  PMPI_Group_free(&group);
  known_[comm] = taken;
  return taken;
}

Communicator& Communicators::identify(Communicator& taken) {
  taken.id = mix(taken.group_hash, ++made_from_group_[taken.group_hash]);
  return taken;
}

std::shared_ptr<Communicator> Communicators::of_group(MPI_Group group) {
  auto described = std::make_shared<Communicator>();
  const std::uint64_t hash = describe_group(group, *described);
  std::shared_ptr<Communicator>& known = of_groups_[hash];
  if (known == nullptr) {
    described->id = mix(mix(hash, 0), 0);
    seen_.push_back(described);
    known = std::move(described);
  }
  return known;
}

ShownCommunicators Communicators::shown(const std::vector<PendingOperation>& pending) const {
  ShownCommunicators shown{.count = std::ssize(seen_)};
  const auto is_pending = [&](const std::shared_ptr<const Communicator>& one) {
    return std::ranges::count(pending, one->id, &PendingOperation::communicator) > 0;
  };
  for (const bool first : {true, false}) {
    for (auto one = seen_.rbegin(); one != seen_.rend() && std::ssize(shown.told) < max_communicators; ++one)
      if (is_pending(*one) == first) shown.told.push_back((*one)->shown());
  }
  return shown;
}

std::uint64_t Communicator::bits_of_others(const std::function<bool(int member)>& counts) const {
  std::uint64_t bits = 0;
  for (int member = 0; member < size; ++member) {
    const int in_case = case_ranks[member];
    if (member == rank || in_case < 0 || in_case >= max_summed_ranks) continue;
    if (counts(member)) bits |= std::uint64_t{1} << in_case;
  }
  return bits;
}

KnownCommunicator Communicator::shown() const {
  KnownCommunicator shown{
      .communicator = id, .started = collectives_started, .size = size, .awaited = awaited, .members = {}};
  for (int i = 0; i < std::min(size, max_summed_ranks); ++i) {
    const bool fits = case_ranks[i] < max_summed_ranks;
    shown.members[i] = static_cast<std::int8_t>(fits ? case_ranks[i] : outside_peer);
  }
  return shown;
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

BufferGuard::BufferGuard(Kind kind, Extent callers)
    : kind_(kind),
      callers_(const_cast<std::byte*>(callers.begin)),  // a receive's was given for writing
      copy_(callers.end - callers.begin, &own_memory()) {}

/// A receive keeps what the buffer held: a shorter message leaves the rest of it as it was.
void BufferGuard::arm() {
  std::memcpy(copy_.data(), callers_, copy_.size());
  if (kind_ != Kind::Receive) return;
  for (std::size_t i = 0; i < copy_.size(); ++i) callers_[i] = guard_bytes[i % guard_bytes.size()];
}

bool BufferGuard::disarm() {
  if (kind_ != Kind::Receive) return std::memcmp(callers_, copy_.data(), copy_.size()) != 0;
  bool written = false;
  for (std::size_t i = 0; i < copy_.size(); ++i)
    written |= callers_[i] != guard_bytes[i % guard_bytes.size()];
  std::memcpy(callers_, copy_.data(), copy_.size());
  return written;
}

bool Operation::may_be_looked_for() const {
  if (!active || handed_over) return false;
  if (kind == Kind::Collective) return communicator->size > 1 && (peer == MPI_PROC_NULL || bytes > 0);
  if (peer == MPI_PROC_NULL || (communicator && peer == communicator->rank)) return false;
  return kind == Kind::Receive || bytes > 0;
}

int Operation::case_peer() const {
  const bool known = communicator && peer >= 0 && peer < static_cast<int>(communicator->case_ranks.size());
  return known ? communicator->case_ranks[peer] : outside_peer;
}

PendingOperation Operation::pending(const char* waiting_call, Need need) const {
  PendingOperation shown{.kind = kind,
                         .need = need,
                         .peer = pending_peer(*this),
                         .tag = tag == MPI_ANY_TAG ? any_tag : tag,
                         .bytes = bytes,
                         .communicator = communicator ? communicator->id : unknown_communicator,
                         .call = {}};
  const bool own = waiting_call == nullptr || waiting_call == call;
  const std::string shown_call = own ? call : fmt::format("{}({})", waiting_call, call);
  shown_call.copy(shown.call, sizeof shown.call - 1);
  return shown;
}

std::string Description::text() const {
  if (kind == Kind::Collective) return call;
  const std::string with = tag == MPI_ANY_TAG ? "any tag" : fmt::format("tag {}", tag);
  return fmt::format("{}{} ({}, {} byte{})", call, direction(kind, peer), with, bytes, bytes == 1 ? "" : "s");
}

bool is_nowhere(const Message& message) {
  int integers = 0, addresses = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  if (message.buffer != nullptr || bytes_of(message.count, message.type) == 0) return false;
  PMPI_Type_get_envelope(message.type, &integers, &addresses, &types, &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
  int size = 0;
  if (count < 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS || size == MPI_UNDEFINED) return 0;
  return count * size;
}

Operation describe(Kind kind, const Message& message, std::shared_ptr<const Communicator> communicator) {
  return {.kind = kind,
          .call = message.call,
          .communicator = std::move(communicator),
          .peer = message.peer,
          .tag = message.tag,
          .bytes = bytes_of(message.count, message.type),
          .extent = extent_of(message.buffer, message.count, message.type)};
}

Operation unknown_operation(const char* call) {
  return {.kind = Kind::Receive, .call = call, .peer = MPI_ANY_SOURCE, .tag = MPI_ANY_TAG};
}

std::string direction(Kind kind, int peer) {
  if (kind == Kind::Collective) return {};
  const std::string who = peer == MPI_ANY_SOURCE  ? "any rank"
                          : peer == MPI_PROC_NULL ? "MPI_PROC_NULL"
                                                  : "rank " + std::to_string(peer);
  return (kind == Kind::Send ? " to " : " from ") + who;
}

void throw_error(int code, const std::string& context) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  const bool known = PMPI_Error_string(code, text, &length) == MPI_SUCCESS;
  throw std::runtime_error(fmt::format("{}: {}", context, known ? text : fmt::format("error {}", code)));
}

void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw_error(code, call);
}

void check(int code, const Operation& operation) {
  if (code != MPI_SUCCESS) throw_error(code, operation.text());
}

}  // namespace course::mpi_layer
