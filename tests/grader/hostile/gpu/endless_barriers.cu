// what: a kernel whose threads meet at one barrier after another for ever
// graded: cudaErrorIllegalAddress
// none: cudaErrorIllegalAddress
__global__ void meets() {
  while (true) __syncthreads();
}
bool attack() {
  meets<<<1, 64>>>();
  return cudaDeviceSynchronize() == cudaSuccess;
}
