// what: takes all memory of the simulated device and writes to it
// graded: MiB
// namespaces: MiB
// user: MiB
// none: MiB
bool attack() {
  for (char* some = nullptr; cudaMalloc(&some, 64 << 20) == cudaSuccess;) cudaMemset(some, 1, 64 << 20);
  return cudaDeviceSynchronize() == cudaSuccess;
}
