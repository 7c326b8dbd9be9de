#include "gpu/nccl/transfer.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "gpu/simulator/findings/findings.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu::nccl {

namespace {

constexpr int header_tag = 0;
constexpr int data_tags = 1 << 14;

/// What the other end of a message must have called.
std::string_view counterpart(std::string_view call) {
  if (call == "ncclSend") return "ncclRecv";
  return call == "ncclRecv" ? "ncclSend" : call;
}

bool has_come(MPI_Request& request) {
  int done = 0;
  PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

std::string with_line(std::string_view call, int line) {
  return std::string(call) + " on line " + std::to_string(line);
}

}  // namespace

std::size_t bytes_of(DataType type, std::size_t count) {
  constexpr std::size_t bytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return count * bytes[static_cast<int>(type)];
}

Transfer::Transfer(const Call& call, const Message& message) : call_(call), message_(message) {}

void Transfer::start() {
  Communicator& comm = *call_.comm;
  int& so_far = (message_.is_send ? comm.sent : comm.received)[message_.peer];
  const int data_tag = 1 + so_far++ % data_tags;
  if (!message_.is_send) {
    PMPI_Irecv(&header_, sizeof(header_), MPI_BYTE, message_.peer, header_tag, comm.mpi, &header_request_);
    return;
  }
  header_ = {{}, call_.line, static_cast<int>(call_.type), data_tag, message_.bytes};
  std::strncpy(header_.call.data(), call_.name, header_.call.size() - 1);
  PMPI_Issend(&header_, sizeof(header_), MPI_BYTE, message_.peer, header_tag, comm.mpi, &header_request_);
  PMPI_Isend(message_.data, static_cast<int>(message_.bytes), MPI_BYTE, message_.peer, data_tag, comm.mpi,
             &data_request_);
}

bool Transfer::is_done() {
  if (done_) return true;
  if (!has_header_) {
    if (!has_come(header_request_)) return false;
    has_header_ = true;
    if (!message_.is_send) receive_numbers();
  }
  done_ = has_come(data_request_);
  if (done_ && !misfit_.empty())
    std::copy_n(misfit_.begin(), std::min(misfit_.size(), message_.bytes), message_.data);
  return done_;
}

void Transfer::receive_numbers() {
  look_for_mismatch();
  std::byte* to = message_.data;
  if (header_.bytes != message_.bytes) {
    misfit_.resize(std::max<std::size_t>(header_.bytes, 1));
    to = misfit_.data();
  }
  PMPI_Irecv(to, static_cast<int>(header_.bytes), MPI_BYTE, message_.peer, header_.data_tag, call_.comm->mpi,
             &data_request_);
}

/// What NCCL leaves undefined: a hang, an error or wrong numbers.
void Transfer::look_for_mismatch() const {
  const std::string_view theirs = header_.call.data();
  const bool same = counterpart(call_.name) == theirs && header_.bytes == message_.bytes &&
                    header_.type == static_cast<int>(call_.type);
  if (same) return;
  const auto told = [](std::size_t bytes) { return " (" + std::to_string(bytes) + " bytes)"; };
  note(fact_nccl, with_line(call_.name, call_.line) + told(message_.bytes) + " meets rank " +
                      std::to_string(call_.comm->case_ranks[message_.peer]) + "'s " +
                      with_line(theirs, header_.line) + told(header_.bytes) +
                      (header_.type == static_cast<int>(call_.type) ? "" : ", of another type"));
}

PendingOperation Transfer::pending() const {
  PendingOperation one{};
  one.kind = message_.is_send ? PendingOperation::Kind::Send : PendingOperation::Kind::Receive;
  one.need = PendingOperation::Need::All;
  one.peer = call_.comm->case_ranks[message_.peer];
  one.tag = header_tag;
  one.bytes = static_cast<std::int64_t>(message_.bytes);
  one.communicator = call_.comm->number;
  std::strncpy(one.call, call_.name, sizeof(one.call) - 1);
  return one;
}

}  // namespace course::gpu::nccl
