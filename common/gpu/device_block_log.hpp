#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "gpu/device_tensor.hpp"
#include "protocol/block_log.hpp"

namespace course {

/// The block log of a ring on a device: keys and values are copied in the stream of the work on them, as they
/// are there, and read when all is over.
class DeviceBlockLog {
 public:
  /// The first 2 P blocks are logged; the others are counted as wrong anyway.
  DeviceBlockLog(std::vector<int> shard_tokens, Index heads, Index head_dim, const Stream& stream)
      : tokens_(std::move(shard_tokens)),
        heads_(heads),
        head_dim_(head_dim),
        most_(2 * std::ssize(tokens_)),
        copies_({2 * most_, heads * *std::ranges::max_element(tokens_) * head_dim}),
        on_device_(copies_, stream),
        stream_(stream) {}

  /// k and v, in device memory, are said to be rank `owner`'s.
  void enter(const float* k, const float* v, int owner, cudaStream_t stream) {
    if (std::ssize(owners_) == most_) return;
    const std::size_t bytes = heads_ * tokens_.at(owner) * head_dim_ * sizeof(float);
    float* to = on_device_.data() + 2 * std::ssize(owners_) * copies_.extent(1);
    for (const float* const from : {k, v}) {
      cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream));
      to += copies_.extent(1);
    }
    owners_.push_back(owner);
  }

  /// The log of protocol/block_log.hpp; waits for the stream.
  Tensor read() {
    on_device_.read(copies_, stream_);
    Tensor log({std::ssize(owners_), block_log::columns});
    for (Index i = 0; i < std::ssize(owners_); ++i) {
      const Index keys = tokens_[owners_[i]];
      const auto fingerprint = [&](Index place) {
        return block_log::fingerprint({copies_.matrix().row(place).data(), heads_, keys, head_dim_});
      };
      const auto row = log.matrix().row(i);
      row[0] = static_cast<float>(owners_[i]);
      row[1] = static_cast<float>(keys);
      row[2] = fingerprint(2 * i);
      row[3] = fingerprint(2 * i + 1);
    }
    return log;
  }

 private:
  std::vector<int> tokens_, owners_;
  Index heads_, head_dim_, most_;
  Tensor copies_;
  DeviceTensor on_device_;
  const Stream& stream_;
};

}  // namespace course
