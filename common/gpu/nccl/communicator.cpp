#include "gpu/nccl/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

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

/// What a unique id begins with.
struct Meeting {
  std::array<char, 4> mark;
  std::uint32_t stamp;  ///< no other id's: memory that nobody writes to may hold an id of an earlier case
  int host;             ///< the rank that made it
  int number;
};
constexpr std::array<char, 4> mark{'n', 'c', 'c', 'l'};
constexpr int most_meetings = 1 << 10;

/// What a rank tells the one that made the id, and hears back of all.
struct Guest {
  int rank;
  int ranks;
  int case_rank;
  std::uint32_t stamp;  ///< of the id that it has
};

int tag_of(const Meeting& meeting) {
  return 1 + meeting.host * most_meetings + meeting.number;
}

std::uint32_t new_stamp() {
  static std::uint32_t made = 0;
  return static_cast<std::uint32_t>(getpid()) * 0x9e3779b9u + ++made;
}

/// The whole of it depends on the stamp, so that a part of one id and the rest of another are none.
UniqueId id_of(const Meeting& meeting) {
  UniqueId id;
  for (std::size_t i = 0; i < sizeof(id.internal); ++i)
    id.internal[i] = static_cast<char>(i + (meeting.stamp >> (8 * (i % 4))));
  std::memcpy(id.internal, &meeting, sizeof(meeting));
  return id;
}

/// Whether every rank from 0 on has come once, all with the same idea of how many there are.
bool agree(std::vector<Guest> guests) {
  std::ranges::sort(guests, {}, &Guest::rank);
  for (std::size_t i = 0; i < guests.size(); ++i) {
    if (guests[i].rank != static_cast<int>(i) || guests[i].ranks != static_cast<int>(guests.size()))
      return false;
  }
  return true;
}

bool have_one_id(const std::vector<Guest>& guests) {
  return std::ranges::all_of(guests, [&](const Guest& guest) { return guest.stamp == guests[0].stamp; });
}

/// The communicator's number, the same on all of its ranks, and no other's.
std::uint64_t number_of(const Meeting& meeting) {
  return 1000 + static_cast<std::uint64_t>(tag_of(meeting));
}

/// Waits for a message between a guest and the rank that made the id.
void complete(MPI_Request request, PendingOperation::Kind kind, int peer, const Meeting& meeting) {
  PendingOperation one{};
  one.kind = kind;
  one.need = PendingOperation::Need::All;
  one.peer = peer;
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
  if (kind == PendingOperation::Kind::Receive) one.peer = status.MPI_SOURCE;
  tell_completed(one);
}

/// The rank that made the id hears of every other one, and tells them all.
std::vector<Guest> receive_guests(const Meeting& meeting, const Guest& own) {
  std::vector<Guest> guests{own};
  while (static_cast<int>(guests.size()) < own.ranks) {
    MPI_Request request = MPI_REQUEST_NULL;
    Guest guest{};
    PMPI_Irecv(&guest, sizeof(guest), MPI_BYTE, MPI_ANY_SOURCE, tag_of(meeting), current.comm, &request);
    complete(request, PendingOperation::Kind::Receive, any_peer, meeting);
    guests.push_back(guest);
  }
  std::ranges::sort(guests, {}, &Guest::rank);
  for (const Guest& guest : guests) {
    if (guest.case_rank == current.rank) continue;
    MPI_Request request = MPI_REQUEST_NULL;
    PMPI_Issend(guests.data(), static_cast<int>(guests.size() * sizeof(Guest)), MPI_BYTE, guest.case_rank,
                tag_of(meeting), current.comm, &request);
    complete(request, PendingOperation::Kind::Send, guest.case_rank, meeting);
  }
  return guests;
}

std::vector<Guest> visit(const Meeting& meeting, const Guest& own) {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Issend(&own, sizeof(own), MPI_BYTE, meeting.host, tag_of(meeting), current.comm, &request);
  complete(request, PendingOperation::Kind::Send, meeting.host, meeting);
  const Guest nobody{-1, 0, -1, 0};
  std::vector<Guest> guests(current.size, nobody);
  PMPI_Irecv(guests.data(), static_cast<int>(guests.size() * sizeof(Guest)), MPI_BYTE, meeting.host,
             tag_of(meeting), current.comm, &request);
  complete(request, PendingOperation::Kind::Receive, meeting.host, meeting);
  std::erase_if(guests, [](const Guest& guest) { return guest.rank < 0; });
  return guests;
}

MPI_Comm made_of(const std::vector<Guest>& guests, int tag) {
  std::vector<int> ranks;
  for (const Guest& guest : guests) ranks.push_back(guest.case_rank);
  MPI_Group all = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  PMPI_Comm_group(current.comm, &all);
  PMPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &members);
  PMPI_Comm_create_group(current.comm, members, tag, &made);
  PMPI_Group_free(&members);
  PMPI_Group_free(&all);
  return made;
}

}  // namespace

std::string call_text(const char* call, int line) {
  return std::string(call) + " on line " + std::to_string(line);
}

Result refuse(const std::string& what, Result result) {
  note(fact_nccl_call, what);
  return result;
}

bool is_known(const Communicator* comm) {
  return std::ranges::count(current.known, comm) > 0;
}

Result make_unique_id(UniqueId* id) {
  if (current.ids_made == most_meetings)
    return refuse("more than " + std::to_string(most_meetings) + " unique ids were made");
  *id = id_of({mark, new_stamp(), current.rank, current.ids_made++});
  return Result::Success;
}

Result join(Communicator** comm, int ranks, const UniqueId& id, int rank, int line) {
  const std::string call = call_text("ncclCommInitRank", line);
  if (in_group())
    return refuse(call + " is called between ncclGroupStart and ncclGroupEnd", Result::InvalidUsage);
  Meeting meeting{};
  std::memcpy(&meeting, id.internal, sizeof(meeting));
  if (meeting.mark != mark)
    return refuse(call + " is given an id that ncclGetUniqueId has not made: was it handed to every rank?");
  if (std::memcmp(id_of(meeting).internal, id.internal, sizeof(id.internal)) != 0)
    return refuse(call + " is given an id that ncclGetUniqueId has made only in part: all " +
                  std::to_string(sizeof(id.internal)) + " bytes have to be handed on");
  if (rank < 0 || rank >= ranks || ranks > current.size)
    return refuse(call + " is given rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                  " in a case of " + std::to_string(current.size) + " ranks");
  const Guest own{rank, ranks, current.rank, meeting.stamp};
  const std::vector<Guest> guests =
      meeting.host == current.rank ? receive_guests(meeting, own) : visit(meeting, own);
  if (!have_one_id(guests))
    return refuse(call + ": a rank has an id that ncclGetUniqueId has made earlier: was it handed to all?");
  if (!agree(guests)) return refuse(call + ": the ranks that use this id do not agree on who is which rank");
  auto made = std::make_unique<Communicator>();
  made->mpi = made_of(guests, tag_of(meeting));
  made->rank = rank;
  made->number = number_of(meeting);
  for (const Guest& guest : guests) made->case_ranks.push_back(guest.case_rank);
  made->sent.resize(guests.size());
  made->received.resize(guests.size());
  *comm = made.get();
  current.known.push_back(made.get());
  current.made.push_back(std::move(made));
  return Result::Success;
}

Result leave(Communicator* comm) {
  if (!is_known(comm)) return refuse("ncclCommDestroy is given what is no communicator, or no longer one");
  run_until_done(comm->last);
  std::erase(current.known, comm);
  return Result::Success;
}

Result size_of(Communicator* comm, int* ranks) {
  if (!is_known(comm)) return refuse("ncclCommCount is given what is no communicator");
  *ranks = comm->size();
  return Result::Success;
}

Result rank_of(Communicator* comm, int* rank) {
  if (!is_known(comm)) return refuse("ncclCommUserRank is given what is no communicator");
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
  if (!current.known.empty())
    refuse("communicators that were not destroyed: " + std::to_string(current.known.size()));
  for (const auto& made : current.made) PMPI_Comm_free(&made->mpi);
  PMPI_Comm_free(&current.comm);
  return traffic();
}

}  // namespace course::gpu::nccl
