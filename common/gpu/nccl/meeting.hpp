#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

/// How ranks that were handed one id find each other and become a communicator, over MPI.
namespace course::gpu::nccl {

inline constexpr std::size_t id_bytes = 128;  ///< of NCCL's ncclUniqueId

/// What a unique id begins with.
struct Meeting {
  std::array<char, 4> mark;
  std::uint32_t stamp;  ///< no other id's: memory that nobody writes to may hold an id of an earlier case
  int host;             ///< the rank that made it, in the communicator that ranks meet in
  int number;           ///< of the ids that it has made; below most_meetings
};
inline constexpr int most_meetings = 1 << 10;

/// A rank that has come, as it says.
struct Guest {
  int rank;  ///< in the communicator to be
  int ranks;
  int host_rank;        ///< in the communicator that ranks meet in
  std::uint32_t stamp;  ///< of the id that it has
};

/// Of the messages of a meeting, and of nothing else there.
int tag_of(const Meeting& meeting);

/// An id that no other call has made. `number` counts this rank's.
Meeting new_meeting(int host, int number);
/// Writes all of an id. The whole of it depends on the stamp, so that a part of one and the rest of another
/// are none.
void write_id(const Meeting& meeting, char (&id)[id_bytes]);

enum class IdState { Whole, InPart, Unknown };
/// Reads what an id begins with; says whether the rest of it belongs to that.
IdState read_id(const char (&id)[id_bytes], Meeting& meeting);

/// Waits for a message with another rank, any_peer for whichever comes.
using WaitForMessage = std::function<void(MPI_Request request, bool is_send, int peer)>;
inline constexpr int any_guest = -1;

/// Everybody who came, by rank. Returns when all ranks have come; every one of them calls it.
std::vector<Guest> meet(const Meeting& meeting, const Guest& own, MPI_Comm comm, const WaitForMessage& wait);

/// Whether every rank from 0 on has come once, all with the same idea of how many there are.
bool agree(const std::vector<Guest>& guests);
bool have_one_id(const std::vector<Guest>& guests);

/// A communicator of the guests, in their order; each of them calls it.
MPI_Comm communicator_of(const std::vector<Guest>& guests, const Meeting& meeting, MPI_Comm comm);

}  // namespace course::gpu::nccl
