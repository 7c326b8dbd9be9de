#include "gpu/nccl/transfer.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <list>
#include <string_view>
#include <utility>

#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/host/model_time.hpp"
#include "gpu/simulator/memory/races.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu::nccl {

namespace {

/// Messages between two ranks have these tags in turn, so that each receive gets its own, in whatever order
/// they are looked at.
constexpr int tags = 1 << 14;

struct Header {
  std::array<char, 24> call;
  int line;
  DataType type;
  std::uint64_t bytes;
  double ready_s;  ///< of the sender's operation, in the model's time
};

/// What of a case that came to no end is under way: the library may use it until the process ends.
std::list<std::vector<std::byte>> left_to_library;

/// What the other end of a message must have called.
std::string_view counterpart(std::string_view call) {
  if (call == "ncclSend") return "ncclRecv";
  return call == "ncclRecv" ? "ncclSend" : call;
}

std::string text_of(std::string_view call, int line, std::uint64_t bytes) {
  return std::string(call) + " on line " + std::to_string(line) + " (" + std::to_string(bytes) + " bytes)";
}

/// What NCCL leaves undefined: a hang, an error or wrong numbers.
void look_for_mismatch(const Call& call, const Message& message, const Header& theirs) {
  const bool same_type = theirs.type == call.type;
  if (counterpart(call.name) == theirs.call.data() && theirs.bytes == message.bytes && same_type) return;
  note({.kind = fact_nccl_mismatch,
        .text = text_of(call.name, call.line, message.bytes) + " meets rank " +
                std::to_string(call.comm->case_ranks[message.peer]) + "'s " +
                text_of(theirs.call.data(), theirs.line, theirs.bytes) +
                (same_type ? "" : ", which has numbers of another type"),
        .call = call.name,
        .other_call = theirs.call.data(),
        .at = {call.line},
        .other_at = {theirs.line}});
}

}  // namespace

std::size_t bytes_of(DataType type, std::size_t count) {
  constexpr std::size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return count * bytes[static_cast<int>(type)];
}

std::size_t largest_message() {
  return std::numeric_limits<int>::max() - sizeof(Header);
}

Transfer::~Transfer() {
  if (request_ == MPI_REQUEST_NULL) return;
  PMPI_Request_free(&request_);
  left_to_library.push_back(std::move(parcel_));
}

void Transfer::start() {
  Communicator& comm = *call_.comm;
  tag_ = (message_.is_send ? comm.sent : comm.received)[message_.peer]++ % tags;
  if (!message_.is_send) return;
  Header header{{}, call_.line, call_.type, message_.bytes, record_of(now.access.operation).time.ready_s};
  std::string_view(call_.name).copy(header.call.data(), header.call.size() - 1);
  parcel_.resize(sizeof header + message_.bytes);
  std::memcpy(parcel_.data(), &header, sizeof header);
  std::copy_n(message_.data, message_.bytes, parcel_.data() + sizeof header);
  PMPI_Issend(parcel_.data(), static_cast<int>(parcel_.size()), MPI_BYTE, message_.peer, tag_, comm.mpi,
              &request_);
}

bool Transfer::is_done() {
  if (is_done_ || (!message_.is_send && request_ == MPI_REQUEST_NULL && !has_begun_to_arrive()))
    return is_done_;
  int done = 0;
  PMPI_Test(&request_, &done, MPI_STATUS_IGNORE);
  if (done == 0) return false;
  if (!message_.is_send) unpack();
  tell_completed(pending(PendingOperation::Need::None));
  return is_done_ = true;
}

bool Transfer::has_begun_to_arrive() {
  int found = 0, bytes = 0;
  MPI_Message arriving = MPI_MESSAGE_NULL;
  MPI_Status status{};
  PMPI_Improbe(message_.peer, tag_, call_.comm->mpi, &found, &arriving, &status);
  if (found == 0) return false;
  PMPI_Get_count(&status, MPI_BYTE, &bytes);
  parcel_.resize(bytes);
  PMPI_Imrecv(parcel_.data(), bytes, MPI_BYTE, &arriving, &request_);
  return true;
}

void Transfer::unpack() const {
  Header header{};
  std::memcpy(&header, parcel_.data(), sizeof header);
  look_for_mismatch(call_, message_, header);
  wait_in_model(now.access.operation, header.ready_s);
  std::copy_n(parcel_.data() + sizeof header, std::min<std::size_t>(header.bytes, message_.bytes),
              message_.data);
}

PendingOperation Transfer::pending(PendingOperation::Need need) const {
  PendingOperation one{};
  one.kind = message_.is_send ? PendingOperation::Kind::Send : PendingOperation::Kind::Receive;
  one.need = need;
  one.peer = call_.comm->case_ranks[message_.peer];
  one.tag = no_tag;
  one.bytes = static_cast<std::int64_t>(message_.bytes);
  one.communicator = call_.comm->number;
  call_text(call_.name, call_.line).copy(one.call, sizeof one.call - 1);
  return one;
}

}  // namespace course::gpu::nccl
