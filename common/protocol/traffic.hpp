#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace course {

/// What a rank has sent to another by one call on one communicator, all of it together.
struct Sent {
  /// The communicator's number on this rank: 1 is the function's own, 2 the first that it made; 0 is any
  /// other, such as MPI_COMM_WORLD, or all together where there are too many to tell apart.
  int communicator = 1;
  std::vector<int> members = {};  ///< case ranks in its order, or outside_peer; empty: not told
  std::string call = {};          ///< "MPI_Allgather"; of a request the call that made it, "MPI_Isend"
  int to = 0;                     ///< rank of the case
  std::int64_t bytes = 0;

  bool operator==(const Sent&) const = default;
};

/// A rank's row of the matrix of bytes: messages, counted by their sender, and what collectives send by their
/// definition, whatever an algorithm would.
using Traffic = std::vector<Sent>;

/// Of what a rank did one step: it began to send a message, had received one, or began to compute on a block.
struct RankStep {
  enum class Kind { Sends, Has, Computes };
  Kind kind = Kind::Computes;
  int peer = -1;  ///< rank of the case, or outside_peer; -1 where it computes
  std::int64_t bytes = 0;

  bool operator==(const RankStep&) const = default;
};

/// So many of a rank's first steps are told, in their order.
inline constexpr std::size_t steps_told = 512;

/// Whether the call sends to one rank that it names: a send of MPI's or NCCL's, "" where only that is known.
bool is_point_to_point(std::string_view call);

/// Bytes by rank of the case: those of messages point to point, and those of collectives too.
std::map<int, std::int64_t> messages_by_peer(const Traffic& traffic);
std::map<int, std::int64_t> bytes_by_peer(const Traffic& traffic);

/// A row of which nothing but bytes by peer is known.
Traffic traffic_of(const std::map<int, std::int64_t>& bytes_sent_to, const std::string& call = "");

}  // namespace course
