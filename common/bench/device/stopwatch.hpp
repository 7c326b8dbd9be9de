#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "bench/device/sizes.hpp"
#include "gpu/device_tensor.hpp"
#include "lesson/cuda_check.hpp"

namespace course::bench::device {

#ifdef __CUDACC__
inline constexpr bool is_simulated = false;
#else
inline constexpr bool is_simulated = true;
#endif

/// Says how long what a stream does between two moments takes: by events on a device. The simulated GPU has
/// no time; there it is the host's, which says nothing of a device.
class Stopwatch {
 public:
#ifdef __CUDACC__
  Stopwatch() {
    cuda_check(cudaEventCreate(&begin_));
    cuda_check(cudaEventCreate(&end_));
  }
  ~Stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  void begin(const Stream& stream) {
    cuda_check(cudaEventRecord(begin_, stream.get()));
  }
  /// Waits for the stream. Returns seconds.
  double end(const Stream& stream) {
    float milliseconds = 0;
    cuda_check(cudaEventRecord(end_, stream.get()));
    cuda_check(cudaEventSynchronize(end_));
    cuda_check(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return 1e-3 * milliseconds;
  }

 private:
  cudaEvent_t begin_ = nullptr, end_ = nullptr;

 public:
#else
  Stopwatch() = default;
  void begin(const Stream&) {
    begin_ = std::chrono::steady_clock::now();
  }
  double end(const Stream& stream) {
    cuda_check(cudaStreamSynchronize(stream.get()));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_;

 public:
#endif
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
};

/// Seconds that each of the repetitions took of what `work` puts into the stream.
/// @param prepare comes before each, untimed
inline std::vector<double> all_seconds(
    const Effort& effort, const Stream& stream, const std::function<void()>& work,
    const std::function<void()>& prepare = [] {}) {
  Stopwatch watch;
  std::vector<double> seconds;
  for (int i = 0; i < effort.warm_ups + effort.repetitions; ++i) {
    prepare();
    watch.begin(stream);
    work();
    seconds.push_back(watch.end(stream));
  }
  seconds.erase(seconds.begin(), seconds.begin() + effort.warm_ups);
  return seconds;
}

inline double median(std::vector<double> numbers) {
  const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
  std::ranges::nth_element(numbers, middle);
  return *middle;
}

/// Their median.
inline double median_seconds(const Effort& effort, const Stream& stream, const std::function<void()>& work) {
  return median(all_seconds(effort, stream, work));
}

}  // namespace course::bench::device
