#include "mpi_layer/operation.hpp"

#include <cstdio>
#include <stdexcept>
#include <utility>

namespace course::mpi_layer {

namespace {

/// Derived types whose elements do not lie side by side are left out: their gaps may belong to somebody else.
Extent extent_of(const void* buffer, int count, MPI_Datatype type) {
  int size = 0;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_lower = 0;
  MPI_Aint true_extent = 0;
  if (buffer == nullptr || count <= 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS) return {};
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_get_true_extent(type, &true_lower, &true_extent);
  if (lower != 0 || true_lower != 0 || size != extent || size != true_extent) return {};
  const auto* begin = static_cast<const std::byte*>(buffer);
  return {begin, begin + static_cast<std::ptrdiff_t>(count) * size};
}

std::int32_t pending_peer(const Operation& operation) {
  if (operation.kind == Kind::Collective && operation.peer < 0) return any_peer;
  return operation.peer == MPI_ANY_SOURCE ? any_peer : operation.case_peer();
}

}  // namespace

int Operation::case_peer() const {
  const bool known = communicator && peer >= 0 && peer < static_cast<int>(communicator->case_ranks.size());
  return known ? communicator->case_ranks[peer] : outside_peer;
}

PendingOperation Operation::pending(const char* waiting_call, Need need) const {
  PendingOperation shown{};
  shown.kind = kind;
  shown.need = need;
  shown.peer = pending_peer(*this);
  shown.tag = tag == MPI_ANY_TAG ? any_tag : tag;
  shown.bytes = bytes;
  shown.communicator = communicator ? communicator->id : unknown_communicator;
  if (waiting_call == nullptr || waiting_call == call) {
    std::snprintf(shown.call, sizeof shown.call, "%s", call);
  } else {
    std::snprintf(shown.call, sizeof shown.call, "%s(%s)", waiting_call, call);
  }
  return shown;
}

std::string Operation::text() const {
  std::string words = call + direction(kind, peer);
  if (kind == Kind::Collective) return words;
  words +=
      " (" + (tag == MPI_ANY_TAG ? "any tag" : "tag " + std::to_string(tag)) + ", " + std::to_string(bytes);
  return words + (bytes == 1 ? " byte)" : " bytes)");
}

std::int64_t bytes_of(int count, MPI_Datatype type) {
  int size = 0;
  if (count < 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS || size == MPI_UNDEFINED) return 0;
  return static_cast<std::int64_t>(count) * size;
}

Operation describe(Kind kind, const Message& message, std::shared_ptr<const Communicator> communicator) {
  Operation operation;
  operation.kind = kind;
  operation.call = message.call;
  operation.communicator = std::move(communicator);
  operation.peer = message.peer;
  operation.tag = message.tag;
  operation.bytes = bytes_of(message.count, message.type);
  operation.extent = extent_of(message.buffer, message.count, message.type);
  return operation;
}

Operation unknown_operation(const char* call) {
  Operation unknown;
  unknown.kind = Kind::Receive;
  unknown.call = call;
  unknown.peer = MPI_ANY_SOURCE;
  unknown.tag = MPI_ANY_TAG;
  return unknown;
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
  if (PMPI_Error_string(code, text, &length) != MPI_SUCCESS)
    std::snprintf(text, sizeof text, "error %d", code);
  throw std::runtime_error(context + ": " + text);
}

}  // namespace course::mpi_layer
