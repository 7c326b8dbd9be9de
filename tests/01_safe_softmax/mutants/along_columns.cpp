#include <algorithm>
#include <cmath>
#include <limits>

#include "safe_softmax.hpp"

namespace lesson01 {

void softmax(course::MatrixView<const float> x, course::MatrixView<float> p) {
  for (course::Index j = 0; j < x.cols(); ++j) {
    float m = -std::numeric_limits<float>::infinity();
    for (course::Index i = 0; i < x.rows(); ++i) m = std::max(m, x(i, j));
    float l = 0.0f;
    for (course::Index i = 0; i < x.rows(); ++i) l += std::exp(x(i, j) - m);
    for (course::Index i = 0; i < x.rows(); ++i) p(i, j) = std::isinf(m) ? 0.0f : std::exp(x(i, j) - m) / l;
  }
}

void logsumexp(course::MatrixView<const float> x, std::span<float> lse) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    float m = -std::numeric_limits<float>::infinity();
    for (const float score : x.row(i)) m = std::max(m, score);
    float l = 0.0f;
    for (const float score : x.row(i)) l += std::isinf(m) ? 0.0f : std::exp(score - m);
    lse[i] = m + std::log(l);
  }
}

}  // namespace lesson01
