#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "gpu/device_tensor.hpp"
#include "lesson/cuda_check.hpp"

/// Inputs that the device draws for itself, and that the host knows without reading them back.
namespace course::bench::device {

/// Number i of the tensor `seed`: between -scale and scale, and spread evenly.
inline __host__ __device__ float number_at(std::uint32_t seed, std::size_t i, float scale) {
  std::uint32_t bits = static_cast<std::uint32_t>(i) * 2654435761u + seed * 40503u + 1u;
  bits ^= bits >> 16;
  bits *= 2246822519u;
  bits ^= bits >> 13;
  bits *= 3266489917u;
  bits ^= bits >> 16;
  return scale * (static_cast<float>(bits >> 8) / 8388608.0f - 1.0f);
}

/// One of these, and where its numbers come from.
struct Numbers {
  std::uint32_t seed;
  float scale;
  double operator()(std::size_t i) const { return number_at(seed, i, scale); }
};

/// Floats in device memory, which nobody has written yet.
class DeviceFloats {
 public:
  explicit DeviceFloats(std::size_t count) : count_(count) {
    cuda_check(cudaMalloc(&data_, count * sizeof(float)));
  }
  ~DeviceFloats() { cudaFree(data_); }
  DeviceFloats(const DeviceFloats&) = delete;
  DeviceFloats& operator=(const DeviceFloats&) = delete;
  float* get() const { return data_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(float); }

  /// Waits for the stream; `to` then has the `count` numbers from the first on.
  void read(float* to, std::size_t first, std::size_t count, const Stream& stream) const {
    cuda_check(
        cudaMemcpyAsync(to, data_ + first, count * sizeof(float), cudaMemcpyDeviceToHost, stream.get()));
    cuda_check(cudaStreamSynchronize(stream.get()));
  }

 private:
  std::size_t count_;
  float* data_ = nullptr;
};

/// Puts them there.
void draw(const DeviceFloats& to, const Numbers& numbers, const Stream& stream);
/// The same number everywhere.
void fill(const DeviceFloats& to, float number, const Stream& stream);

/// How far numbers are from those expected, as a share of them: both norms over all that were added.
class RelativeError {
 public:
  void add(double answer, double expected) {
    difference_ += (answer - expected) * (answer - expected);
    norm_ += expected * expected;
  }
  double value() const { return std::sqrt(difference_ / norm_); }

 private:
  double difference_ = 0, norm_ = 0;
};

}  // namespace course::bench::device
