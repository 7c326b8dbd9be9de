#include "player/mpi_clock.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "player/host.hpp"
#include "protocol/timing.hpp"

namespace course {

namespace {

constexpr int tag = 1;
constexpr int questions = 16;

using HostId = std::array<char, 64>;

/// Rank 0's answers to one rank's questions.
void tell_time(int asker, MPI_Comm comm) {
  for (int i = 0; i < questions; ++i) {
    PMPI_Recv(nullptr, 0, MPI_BYTE, asker, tag, comm, MPI_STATUS_IGNORE);
    const double now = now_s();
    PMPI_Send(&now, 1, MPI_DOUBLE, asker, tag, comm);
  }
}

double ask_time(MPI_Comm comm) {
  double fastest = std::numeric_limits<double>::infinity();
  double offset = 0;
  for (int i = 0; i < questions; ++i) {
    double theirs = 0;
    const double asked = now_s();
    PMPI_Send(nullptr, 0, MPI_BYTE, 0, tag, comm);
    PMPI_Recv(&theirs, 1, MPI_DOUBLE, 0, tag, comm, MPI_STATUS_IGNORE);
    const double answered = now_s();
    if (answered - asked >= fastest) continue;
    fastest = answered - asked;
    offset = theirs - (asked + answered) / 2;
  }
  return offset;
}

}  // namespace

double clock_offset_s(MPI_Comm comm) {
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  HostId own{};
  host_id().copy(own.data(), own.size() - 1);
  std::vector<HostId> hosts(static_cast<std::size_t>(size));
  PMPI_Allgather(own.data(), sizeof(HostId), MPI_BYTE, hosts.data(), sizeof(HostId), MPI_BYTE, comm);
  if (rank != 0) return own != hosts[0] ? ask_time(comm) : 0;
  for (int other = 1; other < size; ++other) {
    if (hosts[static_cast<std::size_t>(other)] != own) tell_time(other, comm);
  }
  return 0;
}

}  // namespace course
