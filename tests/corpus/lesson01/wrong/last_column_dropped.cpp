// wrong: the loop over columns ends one short: the last score is left out
// line: for (course::Index j = 0; j + 1 < x.cols(); ++j) {
// rating: not led
#include "safe_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lesson/not_implemented.hpp"

namespace lesson01 {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

float maximum(std::span<const float> row) {
  float m = minus_infinity;
  for (const float score : row) m = std::max(m, score);
  return m;
}

}  // namespace

void softmax(course::MatrixView<const float> x, course::MatrixView<float> p) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const float m = maximum(x.row(i));
    if (m == minus_infinity) {
      std::ranges::fill(p.row(i), 0.0f);
      continue;
    }
    float l = 0.0f;
    for (course::Index j = 0; j + 1 < x.cols(); ++j) {
      p(i, j) = std::exp(x(i, j) - m);
      l += p(i, j);
    }
    for (float& weight : p.row(i)) weight /= l;
  }
}

void logsumexp(course::MatrixView<const float> x, std::span<float> lse) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const float m = maximum(x.row(i));
    float l = 0.0f;
    if (m != minus_infinity) {
      for (const float score : x.row(i)) l += std::exp(score - m);
    }
    lse[i] = m + std::log(l);
  }
}

}  // namespace lesson01
