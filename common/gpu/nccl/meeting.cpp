#include "gpu/nccl/meeting.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace course::gpu::nccl {

namespace {

constexpr std::array<char, 4> mark{'n', 'c', 'c', 'l'};

std::uint32_t new_stamp() {
  static std::uint32_t made = 0;
  return static_cast<std::uint32_t>(getpid()) * 0x9e3779b9u + ++made;
}

int bytes_of(const std::vector<Guest>& guests) {
  return static_cast<int>(guests.size() * sizeof(Guest));
}

/// The rank that made the id hears of every other one, and tells them all.
std::vector<Guest> receive_guests(const Meeting& meeting, const Guest& own, MPI_Comm comm,
                                  const WaitForMessage& wait) {
  std::vector<Guest> guests{own};
  MPI_Request request = MPI_REQUEST_NULL;
  while (static_cast<int>(guests.size()) < own.ranks) {
    Guest guest{};
    PMPI_Irecv(&guest, sizeof(guest), MPI_BYTE, MPI_ANY_SOURCE, tag_of(meeting), comm, &request);
    wait(request, false, any_guest);
    guests.push_back(guest);
  }
  std::ranges::sort(guests, {}, &Guest::rank);
  for (const Guest& guest : guests) {
    if (guest.host_rank == own.host_rank) continue;
    PMPI_Issend(guests.data(), bytes_of(guests), MPI_BYTE, guest.host_rank, tag_of(meeting), comm, &request);
    wait(request, true, guest.host_rank);
  }
  return guests;
}

std::vector<Guest> visit(const Meeting& meeting, const Guest& own, MPI_Comm comm,
                         const WaitForMessage& wait) {
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Issend(&own, sizeof(own), MPI_BYTE, meeting.host, tag_of(meeting), comm, &request);
  wait(request, true, meeting.host);
  int most = 0;
  PMPI_Comm_size(comm, &most);
  const Guest nobody{-1, 0, -1, 0};
  std::vector<Guest> guests(most, nobody);
  PMPI_Irecv(guests.data(), bytes_of(guests), MPI_BYTE, meeting.host, tag_of(meeting), comm, &request);
  wait(request, false, meeting.host);
  std::erase_if(guests, [](const Guest& guest) { return guest.rank < 0; });
  return guests;
}

}  // namespace

int tag_of(const Meeting& meeting) {
  return 1 + meeting.host * most_meetings + meeting.number;
}

Meeting new_meeting(int host, int number) {
  return {mark, new_stamp(), host, number};
}

void write_id(const Meeting& meeting, char (&id)[id_bytes]) {
  for (std::size_t i = 0; i < id_bytes; ++i) id[i] = static_cast<char>(i + (meeting.stamp >> (8 * (i % 4))));
  std::memcpy(id, &meeting, sizeof(meeting));
}

IdState read_id(const char (&id)[id_bytes], Meeting& meeting) {
  std::memcpy(&meeting, id, sizeof(meeting));
  if (meeting.mark != mark) return IdState::Unknown;
  char whole[id_bytes];
  write_id(meeting, whole);
  return std::memcmp(whole, id, id_bytes) == 0 ? IdState::Whole : IdState::InPart;
}

std::vector<Guest> meet(const Meeting& meeting, const Guest& own, MPI_Comm comm, const WaitForMessage& wait) {
  return meeting.host == own.host_rank ? receive_guests(meeting, own, comm, wait)
                                       : visit(meeting, own, comm, wait);
}

bool agree(const std::vector<Guest>& guests) {
  for (std::size_t i = 0; i < guests.size(); ++i) {
    if (guests[i].rank != static_cast<int>(i) || guests[i].ranks != static_cast<int>(guests.size()))
      return false;
  }
  return true;
}

bool have_one_id(const std::vector<Guest>& guests) {
  return std::ranges::all_of(guests, [&](const Guest& guest) { return guest.stamp == guests[0].stamp; });
}

MPI_Comm communicator_of(const std::vector<Guest>& guests, const Meeting& meeting, MPI_Comm comm) {
  std::vector<int> ranks;
  for (const Guest& guest : guests) ranks.push_back(guest.host_rank);
  MPI_Group all = MPI_GROUP_NULL, members = MPI_GROUP_NULL;
  MPI_Comm made = MPI_COMM_NULL;
  PMPI_Comm_group(comm, &all);
  PMPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &members);
  PMPI_Comm_create_group(comm, members, tag_of(meeting), &made);
  PMPI_Group_free(&members);
  PMPI_Group_free(&all);
  return made;
}

}  // namespace course::gpu::nccl
