#include "gpu/simulator/accesses.hpp"
#include "programs.hpp"

namespace {

using course::gpu::programs::require;

constexpr int n = 64;
constexpr size_t bytes = n * sizeof(float);
constexpr cudaMemcpyKind up = cudaMemcpyHostToDevice;

void check(cudaError_t error, int line = __builtin_LINE()) {
  require(error == cudaSuccess, line);
}

/// Streams that join with no other, events, device and page-locked memory: what most of these programs need.
struct Stage {
  Stage() {
    for (cudaStream_t* const stream : {&one, &two, &three})
      check(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    for (cudaEvent_t* const made : {&event, &other})
      check(cudaEventCreateWithFlags(made, cudaEventDisableTiming));
    for (float** const memory : {&x, &y}) {
      check(cudaMalloc(memory, bytes));
      check(cudaMemset(*memory, 0, bytes));
    }
    check(cudaMallocHost(&host, bytes));
    check(cudaStreamSynchronize(0));
    for (int i = 0; i < n; ++i) host[i] = i;
  }
  ~Stage() {
    for (const cudaStream_t stream : {one, two, three}) cudaStreamDestroy(stream);
    for (const cudaEvent_t made : {event, other}) cudaEventDestroy(made);
    cudaFreeHost(host);
    cudaFree(x);
    cudaFree(y);
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  cudaStream_t one, two, three;
  cudaEvent_t event, other;
  float *x, *y, *host;
};

__global__ void writes(float* x, float value) {
  x[threadIdx.x] = value;
}

__global__ void copies(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];
}

__global__ void reads_early(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect missing_dependency
}

PROGRAM(two_streams_without_an_event) {
  Stage stage;
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  reads_early<<<1, n, 0, stage.two>>>(stage.x, stage.y);
  check(cudaStreamSynchronize(stage.one));
  check(cudaStreamSynchronize(stage.two));
}

PROGRAM(two_streams_with_an_event) {
  Stage stage;
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  check(cudaEventRecord(stage.event, stage.one));
  check(cudaStreamWaitEvent(stage.two, stage.event));
  copies<<<1, n, 0, stage.two>>>(stage.x, stage.y);
  check(cudaMemcpyAsync(stage.host, stage.y, bytes, cudaMemcpyDeviceToHost, stage.two));
  check(cudaStreamSynchronize(stage.two));
  require(stage.host[n - 1] == 1);
}

PROGRAM(host_waits_between_two_streams) {
  Stage stage;
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  check(cudaStreamSynchronize(stage.one));
  copies<<<1, n, 0, stage.two>>>(stage.x, stage.y);
}

__global__ void reads_what_no_event_has_promised(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect missing_dependency
}

PROGRAM(event_is_waited_for_before_its_record) {
  Stage stage;
  check(cudaStreamWaitEvent(stage.two, stage.event));  // expect unrecorded_event
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  check(cudaEventRecord(stage.event, stage.one));
  reads_what_no_event_has_promised<<<1, n, 0, stage.two>>>(stage.x, stage.y);
}

__global__ void reads_what_the_second_record_covers(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect missing_dependency
}

PROGRAM(wait_binds_the_record_before_it) {
  Stage stage;
  check(cudaEventRecord(stage.event, stage.one));
  check(cudaStreamWaitEvent(stage.two, stage.event));
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  check(cudaEventRecord(stage.event, stage.one));
  reads_what_the_second_record_covers<<<1, n, 0, stage.two>>>(stage.x, stage.y);
}

PROGRAM(record_replaces_the_one_before) {
  Stage stage;
  check(cudaEventRecord(stage.event, stage.one));
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  check(cudaEventRecord(stage.event, stage.one));
  check(cudaStreamWaitEvent(stage.two, stage.event));
  copies<<<1, n, 0, stage.two>>>(stage.x, stage.y);
}

PROGRAM(legacy_stream_joins_blocking_streams) {
  Stage stage;
  cudaStream_t blocking;
  check(cudaStreamCreate(&blocking));
  writes<<<1, n>>>(stage.x, 1);
  copies<<<1, n, 0, blocking>>>(stage.x, stage.y);
  writes<<<1, n, 0, cudaStreamLegacy>>>(stage.y, 2);
  copies<<<1, n, 0, cudaStreamPerThread>>>(stage.y, stage.x);
  check(cudaStreamDestroy(blocking));
}

__global__ void runs_beside_the_legacy_stream(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect missing_dependency
}

PROGRAM(launch_forgets_its_stream) {
  Stage stage;
  writes<<<1, n>>>(stage.x, 1);
  runs_beside_the_legacy_stream<<<1, n, 0, stage.one>>>(stage.x, stage.y);
}

__global__ void adds_after_memset(float* x) {
  atomicAdd(&x[threadIdx.x], 1);  // expect missing_dependency
}

PROGRAM(memset_orders_no_nonblocking_stream) {
  Stage stage;
  check(cudaMemset(stage.x, 0, bytes));  // expect missing_dependency
  adds_after_memset<<<1, n, 0, stage.one>>>(stage.x);
}

PROGRAM(memset_in_the_stream_itself) {
  Stage stage;
  check(cudaMemsetAsync(stage.x, 0, bytes, stage.one));
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
}

PROGRAM(gradients_are_cleared_on_another_stream) {
  Stage stage;
  check(cudaMemsetAsync(stage.x, 0, bytes, stage.two));  // expect missing_dependency
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
}

PROGRAM(pinned_buffer_is_overwritten_while_it_is_copied) {
  Stage stage;
  check(cudaMemcpyAsync(stage.x, stage.host, bytes, up, stage.one));  // expect missing_dependency
  stage.host[3] = 7;                                                  // expect missing_dependency
  check(cudaStreamSynchronize(stage.one));
}

PROGRAM(pinned_buffer_is_overwritten_behind_its_copy) {
  Stage stage;
  check(cudaMemcpyAsync(stage.x, stage.host, bytes, cudaMemcpyHostToDevice, stage.one));
  check(cudaStreamSynchronize(stage.one));
  stage.host[3] = 7;
}

PROGRAM(pinned_result_is_read_too_early) {
  Stage stage;
  check(cudaMemcpyAsync(stage.host, stage.x, bytes, cudaMemcpyDeviceToHost, stage.one));
  check(cudaEventRecord(stage.event, stage.one));
  require(stage.host[0] == 0);  // expect missing_dependency
}

PROGRAM(pinned_result_is_waited_for) {
  Stage stage;
  check(cudaMemcpyAsync(stage.host, stage.x, bytes, cudaMemcpyDeviceToHost, stage.one));
  check(cudaEventRecord(stage.event, stage.one));
  check(cudaEventSynchronize(stage.event));
  require(stage.host[3] == 0);
}

PROGRAM(pageable_buffer_is_staged) {
  Stage stage;
  float pageable[n] = {5};
  check(cudaMemcpyAsync(stage.x, pageable, bytes, cudaMemcpyHostToDevice, stage.one));
  pageable[0] = 6;
  check(cudaMemcpyAsync(stage.host, stage.x, bytes, cudaMemcpyDeviceToHost, stage.one));
  check(cudaStreamSynchronize(stage.one));
  require(stage.host[0] == 5);
}

__global__ void writes_too_early(float* x) {
  x[threadIdx.x] = 1;  // expect missing_dependency
}

PROGRAM(memory_of_a_stream_is_used_by_another) {
  Stage stage;
  float* memory = nullptr;
  check(cudaMallocAsync(&memory, bytes, stage.one));  // expect missing_dependency
  writes_too_early<<<1, n, 0, stage.two>>>(memory);
  check(cudaStreamSynchronize(stage.two));
  check(cudaFreeAsync(memory, stage.one));
}

PROGRAM(memory_of_a_stream_is_handed_over) {
  Stage stage;
  float* memory = nullptr;
  check(cudaMallocAsync(&memory, bytes, stage.one));
  check(cudaEventRecord(stage.event, stage.one));
  check(cudaStreamWaitEvent(stage.two, stage.event));
  writes<<<1, n, 0, stage.two>>>(memory, 1);
  check(cudaEventRecord(stage.event, stage.two));
  check(cudaStreamWaitEvent(stage.one, stage.event));
  check(cudaFreeAsync(memory, stage.one));
}

PROGRAM(memory_is_freed_beside_its_reader) {
  Stage stage;
  float* memory = nullptr;
  check(cudaMallocAsync(&memory, bytes, stage.one));
  writes<<<1, n, 0, stage.one>>>(memory, 1);
  check(cudaEventRecord(stage.event, stage.one));
  check(cudaStreamWaitEvent(stage.two, stage.event));
  copies<<<1, n, 0, stage.two>>>(memory, stage.x);
  cudaFreeAsync(memory, stage.one);  // expect missing_dependency
  cudaStreamSynchronize(stage.two);
}

__global__ void writes_over_readers(float* x) {
  x[threadIdx.x] = 2;  // expect missing_dependency
}

PROGRAM(writer_waits_for_the_last_reader_only) {
  Stage stage;
  float* memory = nullptr;
  check(cudaMalloc(&memory, bytes));
  copies<<<1, n, 0, stage.one>>>(stage.x, stage.y);
  copies<<<1, n, 0, stage.two>>>(stage.x, memory);
  check(cudaEventRecord(stage.event, stage.two));
  check(cudaStreamWaitEvent(stage.three, stage.event));
  writes_over_readers<<<1, n, 0, stage.three>>>(stage.x);
  check(cudaFree(memory));
}

__global__ void writes_over_a_third_reader(float* x) {
  x[threadIdx.x] = 2;  // expect missing_dependency
}

PROGRAM(writer_waits_for_two_of_three_readers) {
  Stage stage;
  float *more = nullptr, *most = nullptr;
  check(cudaMalloc(&more, bytes));
  check(cudaMalloc(&most, bytes));
  copies<<<1, n, 0, stage.one>>>(stage.x, stage.y);
  check(cudaStreamSynchronize(stage.one));
  check(cudaEventRecord(stage.event, stage.one));
  cudaStream_t four;
  check(cudaStreamCreateWithFlags(&four, cudaStreamNonBlocking));
  check(cudaStreamWaitEvent(stage.three, stage.event));
  check(cudaStreamWaitEvent(four, stage.event));
  copies<<<1, n, 0, stage.two>>>(stage.x, more);
  check(cudaEventRecord(stage.other, stage.two));
  copies<<<1, n, 0, stage.one>>>(stage.x, stage.y);
  check(cudaEventRecord(stage.event, stage.one));
  copies<<<1, n, 0, stage.three>>>(stage.x, most);
  check(cudaStreamWaitEvent(four, stage.event));
  check(cudaStreamWaitEvent(four, stage.other));
  writes_over_a_third_reader<<<1, n, 0, four>>>(stage.x);
  check(cudaStreamDestroy(four));
  check(cudaFree(more));
  check(cudaFree(most));
}

PROGRAM(copy_to_the_host_is_waited_for) {
  Stage stage;
  float first = 0;
  check(cudaMemcpyAsync(stage.x, stage.host, bytes, cudaMemcpyHostToDevice));
  check(cudaMemcpy(&first, stage.x, sizeof first, cudaMemcpyDeviceToHost));
  stage.host[0] = 7;
}

PROGRAM(copy_from_pageable_memory_is_not) {
  Stage stage;
  const float first = 0;
  check(cudaMemcpyAsync(stage.x, stage.host, bytes, cudaMemcpyHostToDevice));  // expect missing_dependency
  check(cudaMemcpy(stage.y, &first, sizeof first, cudaMemcpyHostToDevice));
  stage.host[0] = 7;  // expect missing_dependency
}

PROGRAM(writer_waits_for_both_readers) {
  Stage stage;
  float* memory = nullptr;
  check(cudaMalloc(&memory, bytes));
  copies<<<1, n, 0, stage.one>>>(stage.x, stage.y);
  copies<<<1, n, 0, stage.two>>>(stage.x, memory);
  check(cudaEventRecord(stage.event, stage.two));
  check(cudaEventRecord(stage.other, stage.one));
  check(cudaStreamWaitEvent(stage.three, stage.event));
  check(cudaStreamWaitEvent(stage.three, stage.other));
  writes<<<1, n, 0, stage.three>>>(stage.x, 2);
  check(cudaFree(memory));
}

__global__ void reads_behind_a_malloc(const float* x, float* y) {
  y[threadIdx.x] = x[threadIdx.x];  // expect missing_dependency
}

PROGRAM(malloc_may_wait_and_orders_nothing) {
  Stage stage;
  float* memory = nullptr;
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  check(cudaMalloc(&memory, bytes));  // expect device_wide_wait
  reads_behind_a_malloc<<<1, n, 0, stage.two>>>(stage.x, stage.y);
  check(cudaFree(memory));
}

PROGRAM(device_is_waited_for) {
  Stage stage;
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  check(cudaDeviceSynchronize());  // expect device_wide_wait
  copies<<<1, n, 0, stage.two>>>(stage.x, stage.y);
}

PROGRAM(query_that_succeeds_is_a_wait) {
  Stage stage;
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  check(cudaEventRecord(stage.event, stage.one));
  while (cudaEventQuery(stage.event) == cudaErrorNotReady) {
  }
  copies<<<1, n, 0, stage.two>>>(stage.x, stage.y);
  while (cudaStreamQuery(stage.two) == cudaErrorNotReady) {
  }
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
}

PROGRAM(stream_is_used_behind_its_end) {
  cudaStream_t stream;
  check(cudaStreamCreate(&stream));
  check(cudaStreamDestroy(stream));
  require(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  require(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  require(cudaGetLastError() == cudaErrorInvalidResourceHandle && cudaGetLastError() == cudaSuccess);
}

/// As a message from another rank: it comes when somebody has sent it.
struct Mail {
  bool sent = false;
};

class Receive : public course::gpu::Operation {
 public:
  Receive(float* to, const Mail& mail) : to_(to), mail_(mail) {}
  COURSE_UNSEEN bool carry_out() override {
    if (!mail_.sent) return false;
    course::gpu::touch(to_, bytes, course::gpu::AccessKind::Write);
    for (int i = 0; i < n; ++i) to_[i] = 3;
    return true;
  }

 private:
  float* to_;
  const Mail& mail_;
};

class Send : public course::gpu::Operation {
 public:
  explicit Send(Mail& mail) : mail_(mail) {}
  bool carry_out() override { return mail_.sent = true; }

 private:
  Mail& mail_;
};

PROGRAM(operation_waits_for_what_another_stream_does) {
  Stage stage;
  Mail mail;
  course::gpu::enqueue(stage.one, {.name = "receive", .line = __LINE__},
                       std::make_unique<Receive>(stage.x, mail));
  copies<<<1, n, 0, stage.one>>>(stage.x, stage.y);
  require(cudaStreamQuery(stage.one) == cudaErrorNotReady);
  course::gpu::enqueue(stage.two, {.name = "send", .line = __LINE__}, std::make_unique<Send>(mail));
  check(cudaMemcpyAsync(stage.host, stage.y, bytes, cudaMemcpyDeviceToHost, stage.one));
  check(cudaStreamSynchronize(stage.one));
  require(stage.host[5] == 3);
}

__global__ void writes_what_the_host_has_waited_for(float* x) {
  x[threadIdx.x + 1] = 5;  // expect missing_dependency
}

PROGRAM(wait_of_the_host_orders_nothing_that_was_queued_before) {
  Stage stage;
  Mail mail;
  course::gpu::enqueue(stage.two, {.name = "receive", .line = __LINE__},
                       std::make_unique<Receive>(stage.y, mail));
  writes_what_the_host_has_waited_for<<<1, n - 1, 0, stage.two>>>(stage.host);
  check(cudaMemcpyAsync(stage.host, stage.x, bytes, cudaMemcpyDeviceToHost, stage.one));
  check(cudaStreamSynchronize(stage.one));
  require(stage.host[0] == 0);
  course::gpu::enqueue(stage.three, {.name = "send", .line = __LINE__}, std::make_unique<Send>(mail));
  check(cudaStreamSynchronize(stage.two));
}

PROGRAM(operation_races_as_a_kernel_does) {
  Stage stage;
  Mail mail{true};
  const int line = __LINE__;  // expect missing_dependency
  course::gpu::enqueue(stage.one, {.name = "receive", .line = line},
                       std::make_unique<Receive>(stage.x, mail));
  copies<<<1, n, 0, stage.two>>>(stage.x, stage.y);
  check(cudaStreamSynchronize(stage.one));
}

}  // namespace
