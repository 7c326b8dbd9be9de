#pragma once

#include <vector>

namespace course::bench::device {

/// How often work is done before it is timed, and while it is.
struct Effort {
  int warm_ups = 2;
  int repetitions = 9;
};

/// What is timed, and how often. The inputs of each are larger than the caches of the devices that it was
/// written for (50 MB on an H100).
struct Sizes {
  int rows = 65536, cols = 4096;  ///< of a softmax: 1 GiB in, 1 GiB out
  int heads = 32, tokens = 8192;  ///< of attention in one call, and of a ring's in all
  std::vector<int> head_dims{32, 64, 128};
  int ring_head_dim = 64;
  int hops = 8, shard_tokens = 4096;  ///< of the loop of two streams
  int additions = 1 << 16;            ///< of a multiply-add loop, to each of its sums
  int blocks_each = 16;               ///< of that loop, on each multiprocessor
  Effort effort = {};
};

/// So little that a simulated GPU does it in seconds.
inline Sizes tiny_sizes() {
  return {.rows = 8,
          .cols = 300,
          .heads = 1,
          .tokens = 64,
          .head_dims = {32, 64, 128},
          .ring_head_dim = 32,
          .hops = 3,
          .shard_tokens = 32,
          .additions = 4,
          .blocks_each = 0,
          .effort = {0, 1}};
}

}  // namespace course::bench::device
