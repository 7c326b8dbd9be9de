#include <algorithm>
#include <vector>

#include "bench/device/numbers.hpp"
#include "bench/device/stopwatch.hpp"
#include "bench/device/timings.hpp"
#include "cuda_softmax.hpp"

namespace course::bench::device {

namespace {

constexpr double softmax_bound = 0.85;
constexpr Numbers scores{1, 8.0f};

/// What a right answer has of a row.
struct RightRow {
  RightRow(int row, int cols) : weights(cols) {
    double m = -INFINITY, l = 0;
    for (int j = 0; j < cols; ++j) {
      weights[j] = scores(static_cast<std::size_t>(row) * cols + j);
      m = std::max(m, weights[j]);
    }
    for (double& weight : weights) l += weight = std::exp(weight - m);
    for (double& weight : weights) weight /= l;
    lse = m + std::log(l);
  }
  std::vector<double> weights;
  double lse = 0;
};

/// The first and the last row are looked at.
void require_right_rows(const Sizes& sizes, const DeviceFloats& p, const DeviceFloats& lse,
                        const Stream& stream) {
  RelativeError of_p, of_lse;
  for (const int row : {0, sizes.rows - 1}) {
    const RightRow right(row, sizes.cols);
    std::vector<float> found(sizes.cols);
    float found_lse = 0;
    p.read(found.data(), static_cast<std::size_t>(row) * sizes.cols, found.size(), stream);
    lse.read(&found_lse, row, 1, stream);
    for (int j = 0; j < sizes.cols; ++j) of_p.add(found[j], right.weights[j]);
    of_lse.add(found_lse, right.lse);
  }
  require_right("softmax", of_p.value());
  require_right("logsumexp", of_lse.value());
}

}  // namespace

void time_softmax(Timings& timings, const Sizes& sizes) {
  const Stream stream;
  const std::size_t count = static_cast<std::size_t>(sizes.rows) * sizes.cols;
  const DeviceFloats x(count), p(count), lse(sizes.rows);
  draw(x, scores, stream);
  const auto softmax = [&] { lesson09::softmax(x.get(), p.get(), sizes.rows, sizes.cols, stream.get()); };
  const auto logsumexp = [&] {
    lesson09::logsumexp(x.get(), lse.get(), sizes.rows, sizes.cols, stream.get());
  };
  const auto gigabytes_a_second = [&](double tensors, const std::function<void()>& work) {
    return 1e-9 * tensors * static_cast<double>(x.bytes()) / median_seconds(sizes.effort, stream, work);
  };
  softmax();
  logsumexp();
  require_right_rows(sizes, p, lse, stream);
  timings.add(
      {.name = copy_row, .unit = "GB/s", .limited_by = "device memory"}, gigabytes_a_second(2, [&] {
        cuda_check(cudaMemcpyAsync(p.get(), x.get(), x.bytes(), cudaMemcpyDeviceToDevice, stream.get()));
      }));
  timings.add(
      {.name = "softmax, a block a row",
       .against = copy_row,
       .bound = softmax_bound,
       .unit = "GB/s",
       .limited_by = "device memory: x read once and p written once count, and x is read three times"},
      gigabytes_a_second(2, softmax));
  timings.add({.name = "logsumexp, a warp a row",
               .against = copy_row,
               .unit = "GB/s",
               .limited_by = "device memory: x read once counts, and it is read twice"},
              gigabytes_a_second(1, logsumexp));
}

}  // namespace course::bench::device
