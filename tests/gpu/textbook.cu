// Twelve kernels as textbooks have them, each against a plain serial reading. nvcc compiles this file, too.
#include <cmath>
#include <vector>

#include "programs.hpp"

namespace {

using course::gpu::programs::require;
using Numbers = std::vector<float>;

void check(cudaError_t error, int line = __builtin_LINE()) {
  require(error == cudaSuccess, line);
}

class OnDevice {
 public:
  explicit OnDevice(const Numbers& numbers) : count_(numbers.size()) {
    check(cudaMalloc(&numbers_, count_ * sizeof(float)));
    check(cudaMemcpy(numbers_, numbers.data(), count_ * sizeof(float), cudaMemcpyHostToDevice));
  }
  ~OnDevice() { cudaFree(numbers_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  float* get() const { return numbers_; }
  Numbers back() const {
    Numbers numbers(count_);
    check(cudaMemcpy(numbers.data(), numbers_, count_ * sizeof(float), cudaMemcpyDeviceToHost));
    return numbers;
  }

 private:
  size_t count_;
  float* numbers_ = nullptr;
};

/// Small whole numbers, whose sums float32 has exactly.
Numbers numbers(int count) {
  Numbers made(count);
  for (int i = 0; i < count; ++i) made[i] = static_cast<float>((i * 37 + 11) % 23 - 7);
  return made;
}

int blocks_for(int count, int block) {
  return (count + block - 1) / block;
}

__global__ void saxpy(int n, float a, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += a * x[i];
}

PROGRAM(textbook_saxpy) {
  const int n = 300;
  const Numbers a = numbers(n), b = numbers(2 * n);
  const OnDevice x(a), y(Numbers(b.begin(), b.begin() + n));
  saxpy<<<2, 64>>>(n, 3, x.get(), y.get());
  const Numbers made = y.back();
  for (int i = 0; i < n; ++i) require(made[i] == 3 * a[i] + b[i]);
}

constexpr int tile = 16;

__global__ void transpose(const float* x, float* y, int rows, int cols) {
  __shared__ float part[tile][tile + 1];
  int row = blockIdx.y * tile + threadIdx.y, col = blockIdx.x * tile + threadIdx.x;
  if (row < rows && col < cols) part[threadIdx.y][threadIdx.x] = x[row * cols + col];
  __syncthreads();
  row = blockIdx.x * tile + threadIdx.y;
  col = blockIdx.y * tile + threadIdx.x;
  if (row < cols && col < rows) y[row * rows + col] = part[threadIdx.x][threadIdx.y];
}

PROGRAM(textbook_transpose) {
  const int rows = 37, cols = 21;
  const Numbers a = numbers(rows * cols);
  const OnDevice x(a), y(a);
  transpose<<<dim3(blocks_for(cols, tile), blocks_for(rows, tile)), dim3(tile, tile)>>>(x.get(), y.get(),
                                                                                        rows, cols);
  const Numbers made = y.back();
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) require(made[c * rows + r] == a[r * cols + c]);
}

__global__ void matmul(const float* a, const float* b, float* c, int n) {
  __shared__ float left[tile][tile], right[tile][tile];
  const int row = blockIdx.y * tile + threadIdx.y, col = blockIdx.x * tile + threadIdx.x;
  float sum = 0;
  for (int first = 0; first < n; first += tile) {
    const int i = first + threadIdx.x, j = first + threadIdx.y;
    left[threadIdx.y][threadIdx.x] = row < n && i < n ? a[row * n + i] : 0;
    right[threadIdx.y][threadIdx.x] = j < n && col < n ? b[j * n + col] : 0;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < tile; ++k) sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  if (row < n && col < n) c[row * n + col] = sum;
}

PROGRAM(textbook_matmul) {
  const int n = 35;
  const Numbers a = numbers(n * n), b = numbers(2 * n * n);
  const OnDevice x(a), y(b), z(a);
  const int side = blocks_for(n, tile);
  matmul<<<dim3(side, side), dim3(tile, tile)>>>(x.get(), y.get(), z.get(), n);
  const Numbers made = z.back();
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < n; ++c) {
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += a[r * n + k] * b[k * n + c];
      require(made[r * n + c] == sum);
    }
}

__device__ __forceinline__ float warp_sum(float x) {
  for (int by = warpSize / 2; by > 0; by /= 2) x += __shfl_down_sync(0xffffffff, x, by);
  return x;
}

__global__ void __launch_bounds__(256) sum_all(const float* x, float* sum, int n) {
  __shared__ float of_warp[8];
  float own = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) own += x[i];
  own = warp_sum(own);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x < 32) {
    own = warp_sum(threadIdx.x < blockDim.x / 32 ? of_warp[threadIdx.x] : 0);
    if (threadIdx.x == 0) atomicAdd(sum, own);
  }
}

PROGRAM(textbook_reduction) {
  const int n = 1000;
  const Numbers a = numbers(n);
  const OnDevice x(a), y(Numbers(1, 0.0f));
  sum_all<<<3, 256>>>(x.get(), y.get(), n);
  float sum = 0;
  for (const float one : a) sum += one;
  require(y.back()[0] == sum);
}

__global__ void row_max(const float* x, float* most, int cols) {
  extern __shared__ float of_thread[];
  float own = -INFINITY;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) own = fmaxf(own, x[blockIdx.x * cols + c]);
  of_thread[threadIdx.x] = own;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      of_thread[threadIdx.x] = fmaxf(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0) most[blockIdx.x] = of_thread[0];
}

PROGRAM(textbook_row_maximum) {
  const int rows = 5, cols = 77;
  const Numbers a = numbers(rows * cols);
  const OnDevice x(a), y(Numbers(rows, 0.0f));
  row_max<<<rows, 64, 64 * sizeof(float)>>>(x.get(), y.get(), cols);
  const Numbers made = y.back();
  for (int r = 0; r < rows; ++r) {
    float most = a[r * cols];
    for (int c = 1; c < cols; ++c) most = fmaxf(most, a[r * cols + c]);
    require(made[r] == most);
  }
}

/// Hillis and Steele, with two buffers.
__global__ void scan(const float* x, float* y, int n) {
  __shared__ float sums[2][128];
  const int i = threadIdx.x;
  int from = 0;
  sums[0][i] = i < n ? x[i] : 0;
  for (int by = 1; by < 128; by *= 2) {
    __syncthreads();
    sums[1 - from][i] = sums[from][i] + (i >= by ? sums[from][i - by] : 0);
    from = 1 - from;
  }
  if (i < n) y[i] = sums[from][i];
}

PROGRAM(textbook_scan) {
  const int n = 100;
  const Numbers a = numbers(n);
  const OnDevice x(a), y(a);
  scan<<<1, 128>>>(x.get(), y.get(), n);
  const Numbers made = y.back();
  float sum = 0;
  for (int i = 0; i < n; ++i) require(made[i] == (sum += a[i]));
}

__global__ void warp_scan(const float* x, float* y) {
  float own = x[threadIdx.x];
  for (int by = 1; by < 32; by *= 2) {
    const float other = __shfl_up_sync(0xffffffff, own, by);
    if (threadIdx.x >= by) own += other;
  }
  y[threadIdx.x] = own;
}

PROGRAM(textbook_warp_scan) {
  const Numbers a = numbers(32);
  const OnDevice x(a), y(a);
  warp_scan<<<1, 32>>>(x.get(), y.get());
  const Numbers made = y.back();
  float sum = 0;
  for (int i = 0; i < 32; ++i) require(made[i] == (sum += a[i]));
}

__global__ void histogram(const float* x, float* counts, int n, int bins) {
  __shared__ int own[32];
  if (threadIdx.x < bins) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd_block(&own[static_cast<int>(x[i]) + 7], 1);
  __syncthreads();
  if (threadIdx.x < bins) atomicAdd(&counts[threadIdx.x], static_cast<float>(own[threadIdx.x]));
}

PROGRAM(textbook_histogram) {
  const int n = 500, bins = 23;
  const Numbers a = numbers(n);
  const OnDevice x(a), y(Numbers(bins, 0.0f));
  histogram<<<3, 64>>>(x.get(), y.get(), n, bins);
  const Numbers made = y.back();
  Numbers counts(bins, 0.0f);
  for (const float one : a) ++counts[static_cast<int>(one) + 7];
  require(made == counts);
}

__global__ void stencil(const float* x, float* y, int n) {
  constexpr int radius = 3, block = 64;
  __shared__ float part[block + 2 * radius];
  const int i = blockIdx.x * block + threadIdx.x;
  const auto at = [=](int j) { return j >= 0 && j < n ? x[j] : 0; };
  part[threadIdx.x + radius] = at(i);
  if (threadIdx.x < radius) {
    part[threadIdx.x] = at(i - radius);
    part[threadIdx.x + radius + block] = at(i + block);
  }
  __syncthreads();
  float sum = 0;
  for (int by = -radius; by <= radius; ++by) sum += part[threadIdx.x + radius + by];
  if (i < n) y[i] = sum;
}

PROGRAM(textbook_stencil) {
  const int n = 150;
  const Numbers a = numbers(n);
  const OnDevice x(a), y(a);
  stencil<<<blocks_for(n, 64), 64>>>(x.get(), y.get(), n);
  const Numbers made = y.back();
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = i - 3; j <= i + 3; ++j) sum += j >= 0 && j < n ? a[j] : 0;
    require(made[i] == sum);
  }
}

__global__ void bitonic_sort(float* x) {
  __shared__ float part[64];
  const unsigned i = threadIdx.x;
  part[i] = x[i];
  for (unsigned length = 2; length <= 64; length *= 2) {
    for (unsigned by = length / 2; by > 0; by /= 2) {
      __syncthreads();
      const unsigned other = i ^ by;
      const bool swaps = other > i && (part[i] > part[other]) == ((i & length) == 0);
      if (swaps) {
        const float kept = part[i];
        part[i] = part[other];
        part[other] = kept;
      }
    }
  }
  __syncthreads();
  x[i] = part[i];
}

PROGRAM(textbook_bitonic_sort) {
  const Numbers a = numbers(64);
  const OnDevice x(a);
  bitonic_sort<<<1, 64>>>(x.get());
  const Numbers made = x.back();
  float sum = 0, same = 0;
  for (int i = 0; i < 64; ++i) {
    require(i == 0 || made[i - 1] <= made[i]);
    sum += a[i];
    same += made[i];
  }
  require(sum == same);
}

__global__ void compact(const float* x, float* kept, int* count, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keeps = i < n && x[i] > 0;
  const unsigned who = __ballot_sync(0xffffffff, keeps);
  const int lane = threadIdx.x % 32;
  int first = 0;
  if (lane == 0) first = atomicAdd(count, __popc(who));
  first = __shfl_sync(0xffffffff, first, 0);
  if (keeps) kept[first + __popc(who & ((1u << lane) - 1))] = x[i];
}

PROGRAM(textbook_compaction) {
  const int n = 200;
  const Numbers a = numbers(n);
  const OnDevice x(a), y(Numbers(n, 0.0f)), count(Numbers(1, 0.0f));
  compact<<<blocks_for(n, 64), 64>>>(x.get(), y.get(), reinterpret_cast<int*>(count.get()), n);
  Numbers left(24, 0.0f), right(24, 0.0f);
  for (const float one : a)
    if (one > 0) ++left[static_cast<int>(one)];
  for (const float one : y.back())
    if (one > 0) ++right[static_cast<int>(one)];
  require(left == right);
}

/// One warp a row; four numbers at once.
__global__ void matrix_vector(const float4* a, const float4* x, float* y, int fours) {
  const int row = blockIdx.x * blockDim.y + threadIdx.y;
  float sum = 0;
  for (int i = threadIdx.x; i < fours; i += 32) {
    const float4 left = a[row * fours + i], right = x[i];
    sum += left.x * right.x + left.y * right.y + left.z * right.z + left.w * right.w;
  }
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(0xffffffff, sum, by);
  if (threadIdx.x == 0) y[row] = sum;
}

PROGRAM(textbook_matrix_vector) {
  const int rows = 8, cols = 144;
  const Numbers a = numbers(rows * cols), b = numbers(cols);
  const OnDevice matrix(a), x(b), y(Numbers(rows, 0.0f));
  matrix_vector<<<rows / 4, dim3(32, 4)>>>(reinterpret_cast<const float4*>(matrix.get()),
                                           reinterpret_cast<const float4*>(x.get()), y.get(), cols / 4);
  const Numbers made = y.back();
  for (int r = 0; r < rows; ++r) {
    float sum = 0;
    for (int c = 0; c < cols; ++c) sum += a[r * cols + c] * b[c];
    require(made[r] == sum);
  }
}

}  // namespace
