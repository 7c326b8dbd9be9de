#include <cmath>
#include <limits>

#include "safe_softmax.hpp"

namespace lesson01 {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

/// The largest score so far and the sum of exp(score - m), rescaled whenever m grows.
struct Sum {
  float m = minus_infinity;
  float l = 0.0f;

  void add(float score) {
    if (score == minus_infinity) return;
    if (score <= m) {
      l += std::exp(score - m);
      return;
    }
    l = l * std::exp(m - score) + 1.0f;
    m = score;
  }
};

Sum sum_of(std::span<const float> row) {
  Sum sum;
  for (const float score : row) sum.add(score);
  return sum;
}

}  // namespace

void softmax(course::MatrixView<const float> x, course::MatrixView<float> p) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const Sum sum = sum_of(x.row(i));
    for (course::Index j = 0; j < x.cols(); ++j) {
      p(i, j) = sum.m == minus_infinity ? 0.0f : std::exp(x(i, j) - sum.m) / sum.l;
    }
  }
}

void logsumexp(course::MatrixView<const float> x, std::span<float> lse) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const Sum sum = sum_of(x.row(i));
    lse[i] = sum.m + std::log(sum.l);
  }
}

}  // namespace lesson01
