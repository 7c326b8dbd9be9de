// what: a kernel that never ends
// graded: threw: cudaErrorIllegalAddress
// none: threw: cudaErrorIllegalAddress
__global__ void spins() {
  for (volatile int i = 0;;) i = 1;
}
bool attack() {
  spins<<<1, 32>>>();
  return cudaDeviceSynchronize() == cudaSuccess;
}
