// what: defines what the compiler calls before accesses itself, so that nobody sees that its threads race
// graded: defines __tsan_
// none: passed
extern "C" {
void __tsan_read4(void*) {}
void __tsan_write4(void*) {}
}
__global__ void races(int* sum) {
  *sum += 1;
}
bool attack() {
  int* sum = nullptr;
  cudaMalloc(&sum, sizeof(int));
  cudaMemset(sum, 0, sizeof(int));
  races<<<1, 64>>>(sum);
  cudaFree(sum);
  return cudaGetLastError() == cudaSuccess;
}
