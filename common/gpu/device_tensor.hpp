#pragma once

#include <cuda_runtime.h>

#include <span>

#include "lesson/cuda_check.hpp"
#include "tensor/tensor.hpp"

/// What the adapters of CUDA lessons hold on the device, simulated or real.
namespace course {

/// A stream that waits for no other unless `flags` say so: what forgets to name it is ordered against nothing
/// in it.
class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamNonBlocking) {
    cuda_check(cudaStreamCreateWithFlags(&stream_, flags));
  }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// Numbers in device memory, copied there in a stream.
template <class Number>
class DeviceArray {
 public:
  DeviceArray(std::span<const Number> numbers, const Stream& stream) : bytes_(numbers.size_bytes()) {
    cuda_check(cudaMalloc(&data_, bytes_));
    cuda_check(cudaMemcpyAsync(data_, numbers.data(), bytes_, cudaMemcpyHostToDevice, stream.get()));
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  Number* data() const { return data_; }

  /// Waits for the stream; `numbers`, as many as there are here, then has them.
  void read(std::span<Number> numbers, const Stream& stream) const {
    cuda_check(cudaMemcpyAsync(numbers.data(), data_, bytes_, cudaMemcpyDeviceToHost, stream.get()));
    cuda_check(cudaStreamSynchronize(stream.get()));
  }

 private:
  std::size_t bytes_;
  Number* data_ = nullptr;
};

/// A tensor's numbers. An output is copied as well, so that an entry which no kernel writes comes back as the
/// poison that it was.
class DeviceTensor : public DeviceArray<float> {
 public:
  DeviceTensor(const Tensor& tensor, const Stream& stream) : DeviceArray(tensor.values(), stream) {}

  void read(Tensor& tensor, const Stream& stream) const { DeviceArray::read(tensor.values(), stream); }
};

}  // namespace course
