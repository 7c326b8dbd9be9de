#include <algorithm>
#include <cmath>
#include <limits>

#include "safe_softmax.hpp"

namespace lesson01 {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

float maximum(std::span<const float> row) {
  return row.empty() ? minus_infinity : *std::max_element(row.begin(), row.end());
}

/// log l, where l counts from m. Not m + log l, which would round log l to the digits that m leaves.
float log_sum(std::span<const float> row, float m) {
  float l = 0.0f;
  for (const float score : row) {
    if (score != minus_infinity) l += std::exp(score - m);
  }
  return std::log(l);
}

}  // namespace

/// Each weight is one exponential, without a division: exp((x - m) - log l).
void softmax(course::MatrixView<const float> x, course::MatrixView<float> p) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const float m = maximum(x.row(i));
    const float log_l = log_sum(x.row(i), m);
    for (course::Index j = 0; j < x.cols(); ++j) {
      p(i, j) = x(i, j) == minus_infinity ? 0.0f : std::exp((x(i, j) - m) - log_l);
    }
  }
}

void logsumexp(course::MatrixView<const float> x, std::span<float> lse) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const float m = maximum(x.row(i));
    lse[i] = m + log_sum(x.row(i), m);
  }
}

}  // namespace lesson01
