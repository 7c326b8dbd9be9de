#pragma once

namespace course::bench::device {

/// How long a warp of lesson 10's or 11's solution needs for the same piece of its work, in clocks of a
/// multiprocessor that it has to itself.
struct WarpClocks {
  double shared_memory;  ///< passes: one a clock
  double useful;         ///< multiply-adds of attention, or of its gradients, at the device's rate

  /// The largest share of the multiply-adds' rate that shared memory allows.
  double share() const { return useful < shared_memory ? useful / shared_memory : 1; }
};

/// float32 multiply-adds that a multiprocessor does in a clock. Source: CUDA C++ Programming Guide 13,
/// arithmetic instructions.
/// @param major, minor the compute capability
int multiply_adds_a_clock(int major, int minor);

/// Of a tile of scores and its product with the values. A request takes a pass for each bank's word that it
/// wants, so that one of 16 bytes a lane takes four, whoever shares addresses (docs/cuda-supported.md). They
/// are counted in the solution's loops: 8 queries and 2 keys a thread.
WarpClocks forward_clocks(int head_dim, int multiply_adds_a_clock);

/// Of both kernels on a tile of 32 queries and 32 keys. Useful are five products; seven are computed.
WarpClocks backward_clocks(int head_dim, int multiply_adds_a_clock);

}  // namespace course::bench::device
