#pragma once

#include <cuda_runtime.h>

#include "lesson/cuda_check.hpp"
#include "tensor/tensor.hpp"

/// What the adapters of CUDA lessons hold on the device, simulated or real.
namespace course {

/// A stream that waits for no other: what forgets to name it is ordered against nothing in it.
class Stream {
 public:
  Stream() { cuda_check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { cudaStreamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

/// A tensor's numbers in device memory, copied there in a stream. An output is copied as well, so that an
/// entry which no kernel writes comes back as the poison that it was.
template <class T>
class DeviceTensorOf {
 public:
  DeviceTensorOf(const TensorOf<T>& tensor, const Stream& stream) : bytes_(tensor.size() * sizeof(T)) {
    cuda_check(cudaMalloc(&data_, bytes_));
    cuda_check(cudaMemcpyAsync(data_, tensor.data(), bytes_, cudaMemcpyHostToDevice, stream.get()));
  }
  ~DeviceTensorOf() { cudaFree(data_); }
  DeviceTensorOf(const DeviceTensorOf&) = delete;
  DeviceTensorOf& operator=(const DeviceTensorOf&) = delete;

  T* data() const { return data_; }

  /// Waits for the stream; `tensor` then has the numbers.
  void read(TensorOf<T>& tensor, const Stream& stream) const {
    cuda_check(cudaMemcpyAsync(tensor.data(), data_, bytes_, cudaMemcpyDeviceToHost, stream.get()));
    cuda_check(cudaStreamSynchronize(stream.get()));
  }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

using DeviceTensor = DeviceTensorOf<float>;

}  // namespace course
