#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "safe_softmax.hpp"

namespace lesson01 {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

using Row = Eigen::Array<float, 1, Eigen::Dynamic>;

Eigen::Map<const Row> row_of(course::MatrixView<const float> x, course::Index i) {
  return {x.row(i).data(), x.cols()};
}

float maximum(const Eigen::Map<const Row>& row) {
  return row.size() == 0 ? minus_infinity : row.maxCoeff();
}

/// exp(row - m), with 0 where the score is masked: Eigen's vectorised exp(-inf) need not be 0.
Row weights(const Eigen::Map<const Row>& row, float m) {
  return (row == minus_infinity).select(0.0f, (row - m).exp());
}

}  // namespace

void softmax(course::MatrixView<const float> x, course::MatrixView<float> p) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const Eigen::Map<const Row> row = row_of(x, i);
    Eigen::Map<Row> result(p.row(i).data(), p.cols());
    const float m = maximum(row);
    if (m == minus_infinity) {
      result.setZero();
      continue;
    }
    result = weights(row, m);
    result /= result.sum();
  }
}

void logsumexp(course::MatrixView<const float> x, std::span<float> lse) {
  for (course::Index i = 0; i < x.rows(); ++i) {
    const Eigen::Map<const Row> row = row_of(x, i);
    const float m = maximum(row);
    lse[i] = m == minus_infinity ? m : m + std::log(weights(row, m).sum());
  }
}

}  // namespace lesson01
