#include <Eigen/Core>
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "tensor/exponential.hpp"

/// What the exponential costs beside the two matrix products of one block, written in three ways.
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr Eigen::Index queries = 256;
constexpr Eigen::Index keys = 256;

/// The shortest of many runs, in microseconds: what else the machine does can only add time.
template <class Work>
double microseconds(Work work) {
  double shortest = 1e9;
  for (int run = 0; run < 500; ++run) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
    shortest = std::min(shortest, time.count());
  }
  return shortest;
}

void measure(Eigen::Index head_dim) {
  const Matrix q = Matrix::Random(queries, head_dim);
  const Matrix k = Matrix::Random(keys, head_dim);
  const Matrix v = Matrix::Random(keys, head_dim);
  Matrix scores(queries, keys);
  Matrix p(queries, keys);
  Matrix o = Matrix::Zero(queries, head_dim);

  const double products = microseconds([&] {
    scores.noalias() = q * k.transpose();
    o.noalias() += scores * v;
  });
  const Eigen::VectorXf m = scores.rowwise().maxCoeff();
  const double row_by_row = microseconds([&] {
    for (Eigen::Index i = 0; i < queries; ++i) p.row(i) = (scores.row(i).array() - m(i)).exp();
  });
  const double all_at_once = microseconds([&] { p = (scores.colwise() - m).array().exp(); });
  const double by_polynomial = microseconds([&] {
    for (Eigen::Index i = 0; i < queries; ++i) {
      p.row(i) = scores.row(i);
      course::exponentiate({p.row(i).data(), keys}, m(i));
    }
  });
  std::printf(
      "head_dim %3td: products %6.1f us, exp of (S.colwise() - m) %6.1f us, row by row %6.1f us, "
      "course::exponentiate %6.1f us\n",
      head_dim, products, all_at_once, row_by_row, by_polynomial);
}

}  // namespace

int main() {
  for (const Eigen::Index head_dim : {32, 64, 128}) measure(head_dim);
}
