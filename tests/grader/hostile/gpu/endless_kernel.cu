// what: a kernel that never ends
// graded: stuck in compute
// none: stuck in compute
__global__ void spins() {
  for (volatile int i = 0;;) i = 1;
}
bool attack() {
  spins<<<1, 32>>>();
  return cudaDeviceSynchronize() == cudaSuccess;
}
