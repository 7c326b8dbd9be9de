#pragma once

#include <span>

#include "tensor/view.hpp"

/// Matrix products and sums over rows, named as in BLAS. Eigen computes them and is compiled once, so that a
/// file that calls them compiles in a second. No call keeps memory.
namespace course {

/// A matrix as gemm reads it: as it lies in memory, or transposed.
class Factor {
 public:
  Factor(MatrixView<const float> matrix, bool is_transposed = false)
      : matrix_(matrix), is_transposed_(is_transposed) {}
  Factor(MatrixView<float> matrix) : Factor(MatrixView<const float>(matrix)) {}

  MatrixView<const float> matrix() const { return matrix_; }
  bool is_transposed() const { return is_transposed_; }
  Index rows() const { return is_transposed_ ? matrix_.cols() : matrix_.rows(); }
  Index cols() const { return is_transposed_ ? matrix_.rows() : matrix_.cols(); }

 private:
  MatrixView<const float> matrix_;
  bool is_transposed_;
};

/// The transpose. Nothing is copied.
inline Factor transposed(Factor factor) {
  return {factor.matrix(), !factor.is_transposed()};
}

/// c = alpha a b + beta c. a [m, k], b [k, n] as they are read, c [m, n]; m, k and n may be 0. With beta = 0,
/// c is written and never read: what it holds beforehand does not matter, NaN included. Throws
/// std::invalid_argument, naming the shapes and the place of the call, where they do not fit, and where c
/// lies on a's or b's memory.
void gemm(float alpha, Factor a, Factor b, float beta, MatrixView<float> c, Caller caller = Caller::here());

/// The largest number of a row; of an empty row -infinity. NaN is passed over, -infinity counts like any
/// number.
float maximum(std::span<const float> row);

/// The sum of x_i y_i. Throws std::invalid_argument naming the place of the call unless both are equally
/// long.
float dot(std::span<const float> x, std::span<const float> y, Caller caller = Caller::here());

/// y = alpha x + y. Throws std::invalid_argument naming the place of the call unless both are equally long.
void axpy(float alpha, std::span<const float> x, std::span<float> y, Caller caller = Caller::here());

/// x = alpha x.
void scal(float alpha, std::span<float> x);

}  // namespace course
