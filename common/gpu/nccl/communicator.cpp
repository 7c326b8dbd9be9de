#include "gpu/nccl/communicator.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

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
};
Case current;

/// What a unique id holds.
struct Meeting {
  std::array<char, 8> mark;
  int host;  ///< the rank that made it
  int number;
};
constexpr std::array<char, 8> mark{'c', 'o', 'u', 'r', 's', 'e', 'i', 'd'};
constexpr int most_meetings = 1 << 10;

/// What a rank tells the one that made the id, and hears back of all.
struct Guest {
  int rank;
  int ranks;
  int case_rank;
};

int tag_of(const Meeting& meeting) {
  return 1 + meeting.host * most_meetings + meeting.number;
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

std::vector<PendingOperation> waits_for(int peer, PendingOperation::Kind kind, const Meeting& meeting) {
  PendingOperation one{};
  one.kind = kind;
  one.need = PendingOperation::Need::All;
  one.peer = peer;
  one.tag = tag_of(meeting);
  one.bytes = sizeof(Guest);
  one.communicator = 2;
  std::strncpy(one.call, "ncclCommInitRank", sizeof(one.call) - 1);
  return {one};
}

void complete(MPI_Request request, int peer, PendingOperation::Kind kind, const Meeting& meeting) {
  current.joins = waits_for(peer, kind, meeting);
  wait_outside([&] {
    int done = 0;
    PMPI_Test(&request, &done, MPI_STATUS_IGNORE);
    return done != 0;
  });
  current.joins.clear();
}

/// The rank that made the id hears of every other one, and tells them all.
std::vector<Guest> receive_guests(const Meeting& meeting, const Guest& own) {
  std::vector<Guest> guests{own};
  while (static_cast<int>(guests.size()) < own.ranks) {
    MPI_Request request = MPI_REQUEST_NULL;
    Guest guest{};
    PMPI_Irecv(&guest, sizeof(guest), MPI_BYTE, MPI_ANY_SOURCE, tag_of(meeting), current.comm, &request);
    complete(request, any_peer, PendingOperation::Kind::Receive, meeting);
    guests.push_back(guest);
  }
  std::ranges::sort(guests, {}, &Guest::rank);
  for (const Guest& guest : guests) {
    if (guest.case_rank == current.rank) continue;
    PMPI_Send(guests.data(), static_cast<int>(guests.size() * sizeof(Guest)), MPI_BYTE, guest.case_rank,
              tag_of(meeting), current.comm);
  }
  return guests;
}

std::vector<Guest> visit(const Meeting& meeting, const Guest& own) {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Issend(&own, sizeof(own), MPI_BYTE, meeting.host, tag_of(meeting), current.comm, &request);
  complete(request, meeting.host, PendingOperation::Kind::Send, meeting);
  std::vector<Guest> guests(own.ranks);
  PMPI_Irecv(guests.data(), static_cast<int>(guests.size() * sizeof(Guest)), MPI_BYTE, meeting.host,
             tag_of(meeting), current.comm, &request);
  complete(request, meeting.host, PendingOperation::Kind::Receive, meeting);
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

Result refuse(const std::string& what) {
  note(fact_nccl, what);
  return Result::InvalidArgument;
}

bool is_known(const Communicator* comm) {
  return std::ranges::count(current.known, comm) > 0;
}

Result make_unique_id(UniqueId* id) {
  if (current.ids_made == most_meetings)
    return refuse("more than " + std::to_string(most_meetings) + " unique ids were made");
  const Meeting meeting{mark, current.rank, current.ids_made++};
  *id = {};
  std::memcpy(id->internal, &meeting, sizeof(meeting));
  return Result::Success;
}

Result join(Communicator** comm, int ranks, const UniqueId& id, int rank, int line) {
  const std::string call = "ncclCommInitRank on line " + std::to_string(line);
  Meeting meeting{};
  std::memcpy(&meeting, id.internal, sizeof(meeting));
  if (meeting.mark != mark)
    return refuse(call + " is given an id that ncclGetUniqueId has not made: was it handed to every rank?");
  if (rank < 0 || rank >= ranks || ranks > current.size)
    return refuse(call + " is given rank " + std::to_string(rank) + " of " + std::to_string(ranks) +
                  " in a case of " + std::to_string(current.size) + " ranks");
  const Guest own{rank, ranks, current.rank};
  const std::vector<Guest> guests =
      meeting.host == current.rank ? receive_guests(meeting, own) : visit(meeting, own);
  if (!agree(guests)) return refuse(call + ": the ranks that use this id do not agree on who is which rank");
  auto made = std::make_unique<Communicator>();
  made->mpi = made_of(guests, tag_of(meeting));
  made->rank = rank;
  made->number = 1000 + static_cast<std::uint64_t>(tag_of(meeting));
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

void begin(MPI_Comm case_comm) {
  current = {};
  PMPI_Comm_dup(case_comm, &current.comm);
  PMPI_Comm_rank(current.comm, &current.rank);
  PMPI_Comm_size(current.comm, &current.size);
}

void end(bool finished) {
  if (!finished) {  // what other ranks do with them is not known
    current = {};
    return;
  }
  if (!current.known.empty())
    note(fact_nccl, "communicators that were not destroyed: " + std::to_string(current.known.size()));
  for (const auto& made : current.made) PMPI_Comm_free(&made->mpi);
  PMPI_Comm_free(&current.comm);
  current = {};
}

}  // namespace course::gpu::nccl
