#include <cuda_runtime.h>

#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

// As much of CUDA's runtime as the transport through the host calls, without a device: device memory is the
// host's, and a stream is a thread that does what was put into it, in order.

namespace {

std::mutex mutex;
std::condition_variable changed;

}  // namespace

struct CUstream_st {
  CUstream_st() : worker([this] { work(); }) {}
  ~CUstream_st() {
    {
      const std::scoped_lock lock(mutex);
      ending = true;
    }
    changed.notify_all();
    worker.join();
  }
  void put(std::function<void()> one) {
    {
      const std::scoped_lock lock(mutex);
      waiting.push_back(std::move(one));
    }
    changed.notify_all();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex);
      changed.wait(lock, [this] { return ending || !waiting.empty(); });
      if (waiting.empty()) return;
      const std::function<void()> next = std::move(waiting.front());
      waiting.pop_front();
      lock.unlock();
      next();
    }
  }

  std::deque<std::function<void()>> waiting;
  bool ending = false;
  std::thread worker;
};

/// How often it was recorded, and how many of these were reached.
struct CUevent_st {
  struct Counts {
    long recorded = 0, reached = 0;
  };
  std::shared_ptr<Counts> counts = std::make_shared<Counts>();
};

namespace {

void wait_for(const std::shared_ptr<CUevent_st::Counts>& counts, long number) {
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return counts->reached >= number; });
}

long recorded(const CUevent_st& event) {
  const std::scoped_lock lock(mutex);
  return event.counts->recorded;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}
cudaError_t cudaMallocHost(void** data, size_t bytes) {
  *data = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  stream->put([=] { std::memcpy(to, from, bytes); });
  return cudaSuccess;
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  stream->put([=] { function(data); });
  return cudaSuccess;
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = new CUevent_st;
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  const auto counts = event->counts;
  {
    const std::scoped_lock lock(mutex);
    ++counts->recorded;
  }
  stream->put([counts] {
    {
      const std::scoped_lock lock(mutex);
      ++counts->reached;
    }
    changed.notify_all();
  });
  return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  const auto counts = event->counts;
  const long number = recorded(*event);
  stream->put([=] { wait_for(counts, number); });
  return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  wait_for(event->counts, recorded(*event));
  return cudaSuccess;
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const std::scoped_lock lock(mutex);
  return event->counts->reached >= event->counts->recorded ? cudaSuccess : cudaErrorNotReady;
}
const char* cudaGetErrorString(cudaError_t) {
  return "an error";
}

}  // extern "C"
