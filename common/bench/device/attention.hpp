#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/device/numbers.hpp"
#include "bench/device/reference.hpp"

namespace course::bench::device {

/// Where a tensor's numbers come from. A rank of a ring has its own: its seeds come after those of the ranks
/// before it.
inline constexpr std::uint32_t tensors_drawn = 4;
inline Numbers q_numbers(int rank) {
  return {2 + tensors_drawn * static_cast<std::uint32_t>(rank), 3.0f};
}
inline Numbers k_numbers(int rank) {
  return {3 + tensors_drawn * static_cast<std::uint32_t>(rank), 1.0f};
}
inline Numbers v_numbers(int rank) {
  return {4 + tensors_drawn * static_cast<std::uint32_t>(rank), 1.0f};
}
inline Numbers d_o_numbers(int rank) {
  return {5 + tensors_drawn * static_cast<std::uint32_t>(rank), 1.0f};
}

/// The reference of head 0 over all tokens of so many ranks, `shard_tokens` each.
Reference reference_of(int ranks, int shard_tokens, int head_dim);

/// A rank's tensors of attention to all keys on a device, and the kernels of lessons 10 and 11.
class Attention {
 public:
  /// @param keys of a block at most; the ranges of the queries see them all
  Attention(int heads, int tokens, int keys, int head_dim, int rank, const Stream& stream);

  /// Nothing has been seen yet.
  void forget() const;
  /// Lesson 10's block of so many keys.
  void see(const float* k, const float* v, int keys, cudaStream_t in) const;
  /// O and the logarithms, once all blocks have been seen.
  void finish(cudaStream_t in) const;
  /// D, and gradients of zero.
  void begin_backward() const;
  /// Lesson 11's block of so many keys, whose gradients are dk and dv.
  void add_gradients(const float* k, const float* v, int keys, float* dk, float* dv, cudaStream_t in) const;

  /// Of a call with all heads and this rank's queries.
  double forward_operations(int keys) const {
    return 4.0 * heads * tokens * static_cast<double>(keys) * head_dim;
  }
  double backward_operations(int keys) const { return 2.5 * forward_operations(keys); }

  /// How far rows 0 and tokens - 1 of head 0 are from the right ones. The rank's first token is `first` in
  /// the reference.
  double forward_error(const Reference& reference, int first) const;
  /// The same of dQ, and of row 0 of dK and dV.
  /// @param all_lse, all_delta of head 0, of all ranks
  double backward_error(const Reference& reference, int first, std::span<const float> all_lse,
                        std::span<const float> all_delta) const;
  /// Head 0's part of the tensor.
  std::vector<float> of_head_0(const DeviceFloats& tensor) const;

  const Stream& stream;
  const int heads, tokens, head_dim;
  const DeviceFloats q, k, v, d_o, m, l, o, lse, delta, dq, dk, dv;

 private:
  std::vector<float> row(const DeviceFloats& tensor, int token) const;

  const DeviceArray<int> first_, last_;
};

}  // namespace course::bench::device
