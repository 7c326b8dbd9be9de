// right: scalar throughout; the maximum in a walk of its own, sums of a row in double, the exponential by std::bit_cast
#include "vector_registers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson20 {

using course::lanes;
using course::Lanes;

namespace {

void require_d(Index d) {
  if (d < 4 || d > 256 || d % 4 != 0)
    throw std::invalid_argument("d = " + std::to_string(d) + " is no multiple of 4 from 4 to 256");
}

float dot(const float* a, const float* b, Index d) {
  float sum = 0;
  for (Index c = 0; c < d; ++c) sum += a[c] * b[c];
  return sum;
}

}  // namespace

void powers_of_two(std::span<const float> x, std::span<float> y) {
  if (x.size() != y.size() || x.size() % lanes != 0)
    throw std::invalid_argument(std::to_string(x.size()) + " numbers x and " + std::to_string(y.size()) +
                                " numbers y; both must be the same multiple of " + std::to_string(lanes));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float z = std::max(x[i], -125.0f), sum = z + 12582912.0f, f = z - (sum - 12582912.0f);
    const float p = 1 + f * (0.693147004f + f * (0.240222424f + f * (0.0555073358f + f * (0.00967151299f + f * 0.00132647285f))));
    y[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) + (std::bit_cast<std::uint32_t>(sum) << 23));
  }
}

void score_tile(MatrixView<const float> k, MatrixView<const float> qt, std::span<const float> start,
                MatrixView<float> s) {
  const Index n = qt.cols();
  if (n % lanes != 0 || n < lanes || n > 4 * lanes)
    throw std::invalid_argument(std::to_string(n) + " queries");
  for (Index j = 0; j < k.rows(); ++j)
    for (Index i = 0; i < qt.cols(); ++i) {
      float sum = start[i];
      for (Index c = 0; c < k.cols(); ++c) sum += k(j, c) * qt(c, i);
      s(j, i) = sum;
    }
}

void attend_block(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                  std::span<float> m, std::span<float> l, MatrixView<float> o) {
  const Index d = q.cols();
  require_d(d);
  if (k.rows() == 0) return;
  const double scale = 1 / std::sqrt(double(d));
  std::vector<double> row(d);
  for (Index i = 0; i < q.rows(); ++i) {
    // The maximum in a walk of its own: scores are computed twice, and none is kept.
    float top = m[i];
    for (Index j = 0; j < k.rows(); ++j) top = std::max(top, float(scale * dot(&q(i, 0), &k(j, 0), d)));
    const double factor = std::exp(double(m[i]) - top);
    double sum = l[i] * factor;
    for (Index c = 0; c < d; ++c) row[c] = o(i, c) * factor;
    for (Index j = 0; j < k.rows(); ++j) {
      const double w = std::exp(scale * dot(&q(i, 0), &k(j, 0), d) - top);
      sum += w;
      for (Index c = 0; c < d; ++c) row[c] += w * v(j, c);
    }
    m[i] = top;
    l[i] = float(sum);
    for (Index c = 0; c < d; ++c) o(i, c) = float(row[c]);
  }
}

void block_backward(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                    MatrixView<const float> d_o, std::span<const float> lse, std::span<const float> delta,
                    std::span<const Index> visible, MatrixView<float> dq, MatrixView<float> dk,
                    MatrixView<float> dv) {
  const Index d = q.cols();
  require_d(d);
  const float scale = 1 / std::sqrt(float(d));
  for (Index i = 0; i < q.rows(); ++i) {
    if (std::isinf(lse[i])) continue;
    for (Index j = 0; j < visible[i]; ++j) {
      const float p = std::exp(scale * dot(&q(i, 0), &k(j, 0), d) - lse[i]);
      const float ds = p * (dot(&d_o(i, 0), &v(j, 0), d) - delta[i]) * scale;
      for (Index c = 0; c < d; ++c) {
        dv(j, c) += p * d_o(i, c);
        dq(i, c) += ds * k(j, c);
        dk(j, c) += ds * q(i, c);
      }
    }
  }
}

}  // namespace lesson20
