#pragma once

#include <mpi.h>

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tensor/view.hpp"

namespace course {

/// The ranks of a communicator as a ring, in which blocks travel to rank + 1, modulo the number of ranks.
class Ring {
 public:
  explicit Ring(MPI_Comm of) : comm(of), rank(answer(MPI_Comm_rank)), size(answer(MPI_Comm_size)) {}

  int next() const { return rank + 1 == size ? 0 : rank + 1; }
  int previous() const { return rank == 0 ? size - 1 : rank - 1; }
  /// The rank whose block is here after so many hops, 0 <= hops <= size.
  int owner_after(int hops) const { return rank < hops ? rank - hops + size : rank - hops; }

  MPI_Comm comm;
  int rank;
  int size;

 private:
  int answer(int (*question)(MPI_Comm, int*)) const {
    int number = 0;
    question(comm, &number);
    return number;
  }
};

/// A tensor [heads, tokens, width] that travels round a ring: at first this rank's, after each hop that of
/// the rank before. It lies in a room as long as the longest shard, and every message is as long as the room.
class TravellingTensor {
 public:
  /// Zeros, for sums that follow a block. shard_tokens: by rank, how many tokens its shard has. Throws
  /// std::invalid_argument unless there is a number for each rank, and where a message would have more
  /// numbers than MPI counts.
  TravellingTensor(const Ring& ring, std::span<const int> shard_tokens, Index heads, Index width)
      : ring_(ring),
        shard_tokens_(lengths_for(ring, shard_tokens)),
        heads_(heads),
        width_(width),
        room_(room_for(heads * width * std::ranges::max(shard_tokens_)), 0.0f) {}

  /// A copy of this rank's shard. Throws std::invalid_argument unless it has as many tokens as shard_tokens
  /// says.
  TravellingTensor(const Ring& ring, std::span<const int> shard_tokens, HeadsView<const float> own)
      : TravellingTensor(ring, shard_tokens, own.heads(), own.head_dim()) {
    const HeadsView<float> here = block();
    if (own.seq() != here.seq())
      throw std::invalid_argument("rank " + std::to_string(ring.rank) + " gave a shard of " +
                                  std::to_string(own.seq()) + " tokens, expected " +
                                  std::to_string(here.seq()) + ", its number in shard_tokens");
    for (Index head = 0; head < heads_; ++head) {
      for (Index row = 0; row < own.seq(); ++row)
        std::ranges::copy(own.head(head).row(row), here.head(head).row(row).begin());
    }
  }

  /// What is here: the tensor of rank ring.owner_after(hops).
  HeadsView<float> block() {
    return {room_.data(), heads_, shard_tokens_[static_cast<std::size_t>(ring_.owner_after(hops_))], width_};
  }

  /// Sends what is here to rank + 1 and takes what rank - 1 has. All ranks call it, equally often.
  void hop() { hop(true, true); }

  /// The same where something may stop: rank + 1 `receives` if and only if this rank `sends`. Where nothing
  /// comes, what block() shows is no rank's.
  void hop(bool sends, bool receives) {
    const int count = static_cast<int>(room_.size());
    if (sends && receives) {
      MPI_Sendrecv_replace(room_.data(), count, MPI_FLOAT, ring_.next(), 0, ring_.previous(), 0, ring_.comm,
                           MPI_STATUS_IGNORE);
    } else if (sends) {
      MPI_Send(room_.data(), count, MPI_FLOAT, ring_.next(), 0, ring_.comm);
    } else if (receives) {
      MPI_Recv(room_.data(), count, MPI_FLOAT, ring_.previous(), 0, ring_.comm, MPI_STATUS_IGNORE);
    }
    hops_ = hops_ + 1 == ring_.size ? 0 : hops_ + 1;
  }

 private:
  static std::vector<int> lengths_for(const Ring& ring, std::span<const int> shard_tokens) {
    if (std::ssize(shard_tokens) == ring.size) return {shard_tokens.begin(), shard_tokens.end()};
    throw std::invalid_argument("shard_tokens has " + std::to_string(shard_tokens.size()) +
                                " numbers, expected " + std::to_string(ring.size) + ", one for each rank");
  }

  static std::size_t room_for(Index numbers) {
    constexpr Index most = std::numeric_limits<int>::max();
    if (0 <= numbers && numbers <= most) return static_cast<std::size_t>(numbers);
    throw std::invalid_argument("a message would have " + std::to_string(numbers) +
                                " numbers, expected 0 to " + std::to_string(most) + ", as far as MPI counts");
  }

  Ring ring_;
  std::vector<int> shard_tokens_;
  Index heads_;
  Index width_;
  std::vector<float> room_;
  int hops_ = 0;
};

}  // namespace course
