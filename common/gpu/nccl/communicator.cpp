#include "gpu/nccl/communicator.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "gpu/nccl/meeting.hpp"
#include "gpu/simulator/findings/findings.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu::nccl {

namespace {

struct Case {
  MPI_Comm comm = MPI_COMM_NULL;  ///< of the case's ranks, for communicators to be made of
  int rank = 0;
  int size = 1;
  int ids_made = 0;
  std::vector<std::unique_ptr<Communicator>> made;  ///< those left stay, for their operations
  std::vector<const Communicator*> known;
  std::vector<PendingOperation> joins;
  std::function<void(const PendingOperation&)> completed;
};
Case current;

/// The communicator's number, the same on all of its ranks, and no other's.
std::uint64_t number_of(const Meeting& meeting) {
  return 1000 + static_cast<std::uint64_t>(tag_of(meeting));
}

/// Waits for a message between a guest and the rank that made the id.
void complete(MPI_Request request, bool is_send, int peer, const Meeting& meeting) {
  PendingOperation one{};
  one.kind = is_send ? PendingOperation::Kind::Send : PendingOperation::Kind::Receive;
  one.need = PendingOperation::Need::All;
  one.peer = peer == any_guest ? any_peer : peer;
  one.tag = no_tag;
  one.communicator = number_of(meeting);
  std::string_view("ncclCommInitRank").copy(one.call, sizeof one.call - 1);
  current.joins = {one};
  MPI_Status status{};
  wait_outside([&] {
    int done = 0;
    PMPI_Test(&request, &done, &status);
    return done != 0;
  });
  current.joins.clear();
  if (!is_send) one.peer = status.MPI_SOURCE;
  tell_completed(one);
}

}  // namespace

std::string call_text(const char* call, int line) {
  return std::string(call) + " on line " + std::to_string(line);
}

Result refuse(const Refusal& refusal) {
  Fact fact{.kind = fact_nccl_call, .text = refusal.what, .at = {refusal.line}};
  if (refusal.wrong_id) fact.marks = {mark_wrong_id};
  note(std::move(fact));
  return refusal.result;
}

bool is_known(const Communicator* comm) {
  return std::ranges::count(current.known, comm) > 0;
}

std::string what_is(const Communicator* comm) {
  const auto left = std::ranges::find(current.made, comm, &std::unique_ptr<Communicator>::get);
  if (left == current.made.end()) return "what is no communicator";
  return "a communicator that " + call_text("ncclCommDestroy", (*left)->left_on_line) + " has ended";
}

Result make_unique_id(UniqueId* id) {
  if (current.ids_made == most_meetings)
    return refuse({"more than " + std::to_string(most_meetings) + " unique ids were made"});
  write_id(new_meeting(current.rank, current.ids_made++), id->internal);
  return Result::Success;
}

Result join(Communicator** comm, int ranks, const UniqueId& id, int rank, int line) {
  const std::string call = call_text("ncclCommInitRank", line);
  if (in_group())
    return refuse({call + " is called between ncclGroupStart and ncclGroupEnd", line, Result::InvalidUsage});
  Meeting meeting{};
  const IdState state = read_id(id.internal, meeting);
  if (state == IdState::Unknown)
    return refuse(
        {.what = call + " is given an id that ncclGetUniqueId has not made: was it handed to every rank?",
         .line = line,
         .wrong_id = true});
  if (state == IdState::InPart)
    return refuse({.what = call + " is given an id that ncclGetUniqueId has made only in part: all " +
                           std::to_string(sizeof(id.internal)) + " bytes have to be handed on",
                   .line = line,
                   .wrong_id = true});
  if (rank < 0 || rank >= ranks || ranks > current.size)
    return refuse({call + " is given rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                       " in a case of " + std::to_string(current.size) +
                       (current.size == 1 ? " rank" : " ranks"),
                   line});
  const Guest own{rank, ranks, current.rank, meeting.stamp};
  const auto wait = [&](MPI_Request request, bool is_send, int peer) {
    complete(request, is_send, peer, meeting);
  };
  const std::vector<Guest> guests = meet(meeting, own, current.comm, wait);
  if (!have_one_id(guests))
    return refuse(
        {.what = call + ": a rank has an id that ncclGetUniqueId has made earlier: was it handed to all?",
         .line = line,
         .wrong_id = true});
  if (!agree(guests))
    return refuse({call + ": the ranks that use this id do not agree on who is which rank", line});
  auto made = std::make_unique<Communicator>();
  made->mpi = communicator_of(guests, meeting, current.comm);
  made->rank = rank;
  made->number = number_of(meeting);
  for (const Guest& guest : guests) made->case_ranks.push_back(guest.host_rank);
  made->sent.resize(guests.size());
  made->received.resize(guests.size());
  *comm = made.get();
  current.known.push_back(made.get());
  current.made.push_back(std::move(made));
  return Result::Success;
}

Result leave(Communicator* comm, int line) {
  if (!is_known(comm)) return refuse({"ncclCommDestroy is given " + what_is(comm)});
  run_until_done(comm->last);
  std::erase(current.known, comm);
  comm->left_on_line = line;
  return Result::Success;
}

Result size_of(Communicator* comm, int* ranks) {
  if (!is_known(comm)) return refuse({"ncclCommCount is given " + what_is(comm)});
  *ranks = comm->size();
  return Result::Success;
}

Result rank_of(Communicator* comm, int* rank) {
  if (!is_known(comm)) return refuse({"ncclCommUserRank is given " + what_is(comm)});
  *rank = comm->rank;
  return Result::Success;
}

std::vector<PendingOperation> pending_joins() {
  return current.joins;
}

void tell_completed(const PendingOperation& message) {
  current.completed(message);
}

void begin(MPI_Comm case_comm, std::function<void(const PendingOperation& message)> completed) {
  forget_groups();
  current = {};
  current.completed = std::move(completed);
  PMPI_Comm_dup(case_comm, &current.comm);
  PMPI_Comm_rank(current.comm, &current.rank);
  PMPI_Comm_size(current.comm, &current.size);
}

Traffic end(bool finished) {
  if (!finished) return traffic();  // what other ranks do with the communicators is not known
  look_for_open_group();
  if (!current.known.empty())
    refuse({"communicators that were not destroyed: " + std::to_string(current.known.size())});
  for (const auto& made : current.made) PMPI_Comm_free(&made->mpi);
  PMPI_Comm_free(&current.comm);
  return traffic();
}

}  // namespace course::gpu::nccl
