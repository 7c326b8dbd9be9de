#include "bench/device/shared_passes.hpp"

namespace course::bench::device {

namespace {

constexpr int warp_lanes = 32;
constexpr int vector_passes = 4;  ///< of a request for 16 bytes a lane

/// Clocks for so many multiply-adds of each lane.
double clocks_for(int multiply_adds_a_lane, int a_clock) {
  return static_cast<double>(multiply_adds_a_lane) * warp_lanes / a_clock;
}

}  // namespace

int multiply_adds_a_clock(int major, int minor) {
  return major == 8 && minor == 0 ? 64 : 128;
}

WarpClocks forward_clocks(int head_dim, int multiply_adds_a_clock) {
  constexpr int queries = 8, keys = 2, tile_keys = 32, sharers = 16;
  const int columns = head_dim / sharers;
  // For four columns of the scores a vector of each query and of each key.
  const int of_scores = head_dim / 4 * (queries + keys) * vector_passes;
  // For four keys a vector of weights of each query, and of each column four values, a float a lane.
  const int of_values = tile_keys / 4 * (queries * vector_passes + columns * 4);
  const int multiply_adds = 2 * queries * keys * head_dim;
  return {static_cast<double>(of_scores + of_values), clocks_for(multiply_adds, multiply_adds_a_clock)};
}

WarpClocks backward_clocks(int head_dim, int multiply_adds_a_clock) {
  constexpr int tile = 32, warps = 4, queries = 4, keys = 2;
  const int rows = tile * (head_dim / 4) / (warps * warp_lanes);  ///< that a thread has a vector of
  // s and dp, once for each kernel.
  const int of_weights = 2 * head_dim / 4 * 2 * (queries + keys) * vector_passes;
  // For each query q, d_o and of each key p and ds; for each key k and of each query ds.
  const int of_key_sums = tile * 2 * (vector_passes + rows);
  const int of_query_sums = tile * (vector_passes + rows);
  constexpr int products = 5;
  const int multiply_adds = products * tile * tile * head_dim / (warps * warp_lanes);
  return {static_cast<double>(of_weights + of_key_sums + of_query_sums),
          clocks_for(multiply_adds, multiply_adds_a_clock)};
}

}  // namespace course::bench::device
