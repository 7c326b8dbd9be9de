// A lesson's file may hold Eigen's products too, compiled with other options. Two functions of one name would
// become one when the file is linked with this one, and each would then meet memory that is not aligned as it
// expects. So Eigen's namespace has another name here.
#define Eigen course_eigen
#include "tensor/linear_algebra.hpp"

#include <Eigen/Core>
#include <array>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

namespace course {

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXf;

using RowStride = Eigen::OuterStride<>;

Eigen::Map<const Matrix, 0, RowStride> as_eigen(MatrixView<const float> view) {
  return {view.data(), view.rows(), view.cols(), RowStride(view.row_stride())};
}

Eigen::Map<const Vector> as_eigen(std::span<const float> x) {
  return {x.data(), static_cast<Index>(x.size())};
}

Eigen::Map<Vector> as_eigen(std::span<float> x) {
  return {x.data(), static_cast<Index>(x.size())};
}

/// Calls `use` with the factor as an Eigen expression.
template <class Use>
void with_eigen(Factor factor, Use use) {
  const auto matrix = as_eigen(factor.matrix());
  if (factor.is_transposed()) {
    use(matrix.transpose());
  } else {
    use(matrix);
  }
}

std::string shape(Index rows, Index cols) {
  return "[" + std::to_string(rows) + ", " + std::to_string(cols) + "]";
}

/// Behind the last number of a matrix that has some.
const float* end_of(MatrixView<const float> x) {
  return x.data() + (x.rows() - 1) * x.row_stride() + x.cols();
}

bool overlap(MatrixView<const float> a, MatrixView<const float> b) {
  const std::less<const float*> before;
  return a.size() > 0 && b.size() > 0 && before(a.data(), end_of(b)) && before(b.data(), end_of(a));
}

void require_fit(Factor a, Factor b, MatrixView<float> c, Caller caller) {
  if (a.rows() != c.rows() || a.cols() != b.rows() || b.cols() != c.cols()) {
    throw std::invalid_argument("gemm: a " + shape(a.rows(), a.cols()) + " times b " +
                                shape(b.rows(), b.cols()) + " does not fit c " + shape(c.rows(), c.cols()) +
                                " (" + to_string(caller) + ")");
  }
  for (const Factor& factor : {a, b}) {
    if (overlap(factor.matrix(), c)) {
      throw std::invalid_argument("gemm: c " + shape(c.rows(), c.cols()) +
                                  " lies on the memory of a factor " + shape(factor.rows(), factor.cols()) +
                                  " (" + to_string(caller) + ")");
    }
  }
}

void require_equal_lengths(const std::string& what, std::span<const float> x, std::span<const float> y,
                           Caller caller) {
  if (x.size() != y.size()) {
    throw std::invalid_argument(what + ": x has " + std::to_string(x.size()) + " numbers and y " +
                                std::to_string(y.size()) + " (" + to_string(caller) + ")");
  }
}

float larger(float a, float b) {
  return b > a ? b : a;
}

}  // namespace

void gemm(float alpha, Factor a, Factor b, float beta, MatrixView<float> c, Caller caller) {
  require_fit(a, b, c, caller);
  Eigen::Map<Matrix, 0, RowStride> result(c.data(), c.rows(), c.cols(), RowStride(c.row_stride()));
  with_eigen(a, [&](const auto& left) {
    with_eigen(b, [&](const auto& right) {
      if (beta == 0.0f) {
        result.noalias() = alpha * left * right;
      } else {
        if (beta != 1.0f) result *= beta;
        result.noalias() += alpha * left * right;
      }
    });
  });
}

float maximum(std::span<const float> row) {
  // One maximum a lane, since the compiler takes several numbers at once only where their order is given.
  constexpr std::size_t lanes = 16;
  std::array<float, lanes> largest;
  largest.fill(-std::numeric_limits<float>::infinity());
  std::size_t i = 0;
  for (; i + lanes <= row.size(); i += lanes) {
    const float* const x = row.data() + i;
    for (std::size_t lane = 0; lane < lanes; ++lane) largest[lane] = larger(largest[lane], x[lane]);
  }
  float result = largest[0];
  for (const float x : largest) result = larger(result, x);
  for (const float x : row.subspan(i)) result = larger(result, x);
  return result;
}

float dot(std::span<const float> x, std::span<const float> y, Caller caller) {
  require_equal_lengths("dot", x, y, caller);
  return as_eigen(x).dot(as_eigen(y));
}

void axpy(float alpha, std::span<const float> x, std::span<float> y, Caller caller) {
  require_equal_lengths("axpy", x, y, caller);
  as_eigen(y) += alpha * as_eigen(x);
}

void scal(float alpha, std::span<float> x) {
  as_eigen(x) *= alpha;
}

}  // namespace course
