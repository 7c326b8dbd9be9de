#include <algorithm>
#include <cmath>
#include <limits>

#include "safe_softmax.hpp"

namespace lesson01 {

namespace {

/// m and l of one row, in float64. A masked row has m = -inf and l = 0.
struct Sum {
  double m = -std::numeric_limits<double>::infinity();
  double l = 0;
};

Sum sum_of(std::span<const float> row) {
  Sum sum;
  for (const float score : row) sum.m = std::max<double>(sum.m, score);
  if (std::isinf(sum.m)) return sum;
  for (const float score : row) sum.l += std::exp(score - sum.m);
  return sum;
}

}  // namespace

void softmax(course::MatrixView<const float> x, course::MatrixView<float> p) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const Sum sum = sum_of(x.row(i));
    for (course::Index j = 0; j < x.cols(); ++j) {
      p(i, j) = std::isinf(sum.m) ? 0.0f : static_cast<float>(std::exp(x(i, j) - sum.m) / sum.l);
    }
  }
}

void logsumexp(course::MatrixView<const float> x, std::span<float> lse) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const Sum sum = sum_of(x.row(i));
    lse[i] = static_cast<float>(sum.m + std::log(sum.l));
  }
}

}  // namespace lesson01
