#include "gpu/named_calls.hpp"
#include "mail.hpp"
#include "stage.hpp"

namespace {

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

__global__ void reads_in_two_phases(const float* x, float* y) {
  float sum = x[threadIdx.x];
  __syncthreads();
  sum += x[threadIdx.x];
  y[threadIdx.x] = sum;
}

__global__ void writes_beside_a_reader(float* x) {
  x[threadIdx.x] = 1;  // expect missing_dependency
}

PROGRAM(reader_of_two_phases_in_another_stream) {
  Stage stage;
  reads_in_two_phases<<<1, n, 0, stage.one>>>(stage.x, stage.y);
  check(cudaStreamSynchronize(stage.three));
  writes_beside_a_reader<<<1, n, 0, stage.two>>>(stage.x);
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

PROGRAM(host_asks_until_it_is_done) {
  Stage stage;
  writes<<<1, n, 0, stage.one>>>(stage.x, 1);
  check(cudaEventRecord(stage.event, stage.one));
  while (cudaEventQuery(stage.event) == cudaErrorNotReady) {
  }
}

PROGRAM(host_asks_within_a_name_until_it_is_done) {
  Stage stage;
  for (int i = 0; i < 20; ++i) {
    const course::NamedCalls ring("the ring");
    writes<<<1, n, 0, stage.one>>>(stage.x, 1);
    while (cudaStreamQuery(stage.one) == cudaErrorNotReady) {  // expect host_wait
    }
    check(cudaGetLastError());
  }
}

PROGRAM(host_asks_two_streams_in_turns) {
  Stage stage;
  for (int i = 0; i < 20; ++i) {
    writes<<<1, n, 0, stage.one>>>(stage.x, 1);
    writes<<<1, n, 0, stage.two>>>(stage.y, 1);
    const course::NamedCalls ring("the ring");
    cudaError_t one, two;
    do {
      one = cudaStreamQuery(stage.one);  // expect host_wait
      two = cudaStreamQuery(stage.two);
    } while (one == cudaErrorNotReady || two == cudaErrorNotReady);
    check(cudaGetLastError());
  }
}

PROGRAM(host_asks_within_a_name_and_goes_on) {
  Stage stage;
  for (int i = 0; i < 20; ++i) {
    const course::NamedCalls ring("the ring");
    writes<<<1, n, 0, stage.one>>>(stage.x, 1);
    check(cudaGetLastError());
    cudaStreamQuery(stage.one);
    cudaStreamQuery(stage.two);
  }
}

PROGRAM(stream_is_used_behind_its_end) {
  cudaStream_t stream;
  check(cudaStreamCreate(&stream));
  check(cudaStreamDestroy(stream));
  require(cudaStreamSynchronize(stream) == cudaErrorInvalidResourceHandle);
  require(cudaStreamDestroy(stream) == cudaErrorInvalidResourceHandle);
  require(cudaGetLastError() == cudaErrorInvalidResourceHandle && cudaGetLastError() == cudaSuccess);
}

PROGRAM(stream_is_not_destroyed) {
  cudaStream_t left, ended;
  check(cudaStreamCreateWithFlags(&left, cudaStreamNonBlocking));  // expect not_destroyed
  check(cudaStreamCreate(&ended));
  check(cudaStreamDestroy(ended));
}

PROGRAM(event_is_not_destroyed) {
  cudaEvent_t left, ended;
  check(cudaEventCreate(&left));  // expect not_destroyed
  check(cudaEventCreate(&ended));
  check(cudaEventDestroy(ended));
}

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

__global__ void writes_behind(float* x) {
  x[n + threadIdx.x] = 1;  // expect out_of_bounds
}

PROGRAM(writes_behind_what_a_header_allocated) {
  Stage stage;
  writes_behind<<<1, 1, 0, stage.one>>>(stage.x);
  require(cudaStreamSynchronize(stage.one) == cudaErrorIllegalAddress);
}

}  // namespace
