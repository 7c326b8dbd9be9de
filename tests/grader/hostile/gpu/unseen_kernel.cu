// what: asks the compiler not to announce a kernel's accesses, whose threads race
// graded: does not compile
// none: does not compile
#define unseen __attribute__((no_sanitize("thread")))
__global__ unseen void races(int* sum) {
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
