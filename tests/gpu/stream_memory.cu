// Memory that operations in streams use while the host, or another stream, does.
#include "stage.hpp"

namespace {

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

}  // namespace
