#pragma once

#include <mpi.h>

#include <algorithm>
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
/// the rank before. It lies in a room as long as the longest shard, all of which every message has.
class TravellingTensor {
 public:
  /// Zeros, for sums that follow a block. shard_tokens: by rank, how many tokens its shard has.
  TravellingTensor(const Ring& ring, std::span<const int> shard_tokens, Index heads, Index width)
      : ring_(ring),
        shard_tokens_(shard_tokens),
        heads_(heads),
        width_(width),
        room_(static_cast<std::size_t>(heads * width * std::ranges::max(shard_tokens)), 0.0f) {
    if (std::ssize(shard_tokens) != ring.size)
      throw std::invalid_argument("shard_tokens has " + std::to_string(shard_tokens.size()) +
                                  " entries, expected one of each of " + std::to_string(ring.size) +
                                  " ranks");
  }

  /// A copy of this rank's shard. Throws std::invalid_argument unless it has as many tokens as shard_tokens
  /// says.
  TravellingTensor(const Ring& ring, std::span<const int> shard_tokens, HeadsView<const float> own)
      : TravellingTensor(ring, shard_tokens, own.heads(), own.head_dim()) {
    if (own.seq() != shard_tokens[ring.rank])
      throw std::invalid_argument("a shard of " + std::to_string(own.seq()) + " tokens was given for rank " +
                                  std::to_string(ring.rank) + ", whose shard has " +
                                  std::to_string(shard_tokens[ring.rank]));
    const HeadsView<float> here = block();
    for (Index head = 0; head < heads_; ++head) {
      for (Index row = 0; row < own.seq(); ++row)
        std::ranges::copy(own.head(head).row(row), here.head(head).row(row).begin());
    }
  }

  /// What is here: the tensor of rank ring.owner_after(hops).
  HeadsView<float> block() { return {room_.data(), heads_, shard_tokens_[ring_.owner_after(hops_)], width_}; }

  /// Sends what is here to rank + 1 and takes what rank - 1 has. All ranks call it, equally often.
  void hop() {
    MPI_Sendrecv_replace(room_.data(), static_cast<int>(room_.size()), MPI_FLOAT, ring_.next(), 0,
                         ring_.previous(), 0, ring_.comm, MPI_STATUS_IGNORE);
    hops_ = hops_ + 1 == ring_.size ? 0 : hops_ + 1;
  }

 private:
  Ring ring_;
  std::span<const int> shard_tokens_;
  Index heads_;
  Index width_;
  std::vector<float> room_;
  int hops_ = 0;
};

}  // namespace course
