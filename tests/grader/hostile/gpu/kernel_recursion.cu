// what: a kernel that calls itself until its thread has no stack left
// graded: died of signal 11
// namespaces: died of signal 11
// user: died of signal 11
// none: died of signal 11
__device__ int deeper(int depth) {
  volatile int here[64] = {depth};
  return deeper(depth + 1) + here[depth % 64];
}
__global__ void recurses(int* result) {
  *result = deeper(0);
}
bool attack() {
  int* result = nullptr;
  cudaMalloc(&result, sizeof(int));
  recurses<<<1, 32>>>(result);
  return cudaDeviceSynchronize() == cudaSuccess;
}
