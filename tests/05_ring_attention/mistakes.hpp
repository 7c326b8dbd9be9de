#pragma once

#include <algorithm>
#include <functional>
#include <vector>

#include "judge/task.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"

/// What ring attention would compute if a rank attended to other blocks than it should.
namespace mistakes {

using namespace course;

/// Keys of one rank with values of another, both read as if they held as many tokens as a third rank's.
struct Seen {
  int k_of;
  int v_of;
  int tokens_of;
};

/// The blocks that a rank attends to.
using Sight = std::function<std::vector<Seen>(int rank, int world_size)>;

inline int sender(int rank, int hop, int world_size) {
  return (rank - hop + world_size) % world_size;
}

inline Tensor shard(const Example& example, const char* name, int rank) {
  return slice(example.inputs.at(name), 1, shard_offsets(example.shard_tokens)[rank],
               example.shard_tokens[rank]);
}

/// The buffer of x [heads, n, head_dim], zero beyond what x fills, read as [heads, tokens, head_dim].
inline Tensor read_as(const Tensor& x, int tokens) {
  Tensor read({x.extent(0), tokens, x.extent(2)});
  std::copy_n(x.data(), std::min(x.size(), read.size()), read.data());
  return read;
}

/// What every rank gets from the blocks it sees.
inline Answer attend(const Example& example, const Sight& sight) {
  std::vector<Tensor64> o, lse;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const Tensor q = shard(example, "q", rank);
    std::vector<Tensor> k{Tensor({q.extent(0), 0, q.extent(2)})};
    std::vector<Tensor> v = k;
    for (const Seen& seen : sight(rank, example.ranks())) {
      const int tokens = example.shard_tokens[seen.tokens_of];
      k.push_back(read_as(shard(example, "k", seen.k_of), tokens));
      v.push_back(read_as(shard(example, "v", seen.v_of), tokens));
    }
    reference::Attention<double> own = reference::attention(cast<double>(q), cast<double>(concatenate(k, 1)),
                                                            cast<double>(concatenate(v, 1)));
    o.push_back(std::move(own.o));
    lse.push_back(std::move(own.lse));
  }
  return {{"o", concatenate(o, 1)}, {"lse", concatenate(lse, 1)}};
}

/// The blocks after hops first .. last.
inline std::vector<Seen> arrivals(int rank, int first, int last, int world_size) {
  std::vector<Seen> all;
  for (int hop = first; hop <= last; ++hop) {
    const int owner = sender(rank, hop, world_size);
    all.push_back({owner, owner, owner});
  }
  return all;
}

inline std::vector<Seen> every_block(int rank, int world_size) {
  return arrivals(rank, 0, world_size - 1, world_size);
}

inline std::vector<Seen> without_the_last(int rank, int world_size) {
  return arrivals(rank, 0, world_size - 2, world_size);
}

/// The loop that starts from its own block and ends a hop early: right for one rank.
inline std::vector<Seen> without_the_last_but_own(int rank, int world_size) {
  return arrivals(rank, 0, std::max(0, world_size - 2), world_size);
}

inline std::vector<Seen> without_own(int rank, int world_size) {
  return arrivals(rank, 1, world_size - 1, world_size);
}

inline std::vector<Seen> own_every_time(int rank, int world_size) {
  return std::vector<Seen>(world_size, {rank, rank, rank});
}

/// The buffer that never changes, read with the length of the block that should be in it.
inline std::vector<Seen> own_read_as_others(int rank, int world_size) {
  std::vector<Seen> all = every_block(rank, world_size);
  for (Seen& seen : all) seen.k_of = seen.v_of = rank;
  return all;
}

inline std::vector<Seen> own_values(int rank, int world_size) {
  std::vector<Seen> all = every_block(rank, world_size);
  for (Seen& seen : all) seen.v_of = rank;
  return all;
}

inline Mistake seeing(std::string id, Sight sight) {
  return {std::move(id),
          [sight = std::move(sight)](const Example& example) { return attend(example, sight); }};
}

/// The mistakes of task 2 that change the answer whatever the shards are.
inline std::vector<Mistake> of_the_ring() {
  return {seeing("one_block_short", without_the_last),
          seeing("one_block_short", without_the_last_but_own),
          seeing("one_block_short", without_own),
          seeing("own_block_every_time", own_every_time),
          seeing("own_block_every_time", own_read_as_others),
          seeing("v_left_behind", own_values)};
}

}  // namespace mistakes
