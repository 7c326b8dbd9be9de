#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "blockwise_attention.hpp"

namespace lesson04 {

using course::Index;

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix in_double(course::MatrixView<const float> view) {
  using Floats = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const Floats>(view.data(), view.rows(), view.cols()).cast<double>();
}

}  // namespace

/// The exponentials of the block alone first, its merge with what was seen before afterwards.
void attend_block(course::MatrixView<const float> q, course::MatrixView<const float> k,
                  course::MatrixView<const float> v, std::span<float> m, std::span<float> l,
                  course::MatrixView<float> o) {
  if (k.rows() == 0) return;
  const Matrix scores = in_double(q) * in_double(k).transpose() / std::sqrt(static_cast<double>(q.cols()));
  const Eigen::VectorXd block_m = scores.rowwise().maxCoeff();
  const Matrix p = (scores.colwise() - block_m).array().exp();
  const Eigen::VectorXd block_l = p.rowwise().sum();
  const Matrix block_o = p * in_double(v);
  for (Index i = 0; i < q.rows(); ++i) {
    const double new_m = std::max<double>(m[i], block_m(i));
    const double old_share = std::exp(m[i] - new_m);
    const double block_share = std::exp(block_m(i) - new_m);
    m[i] = static_cast<float>(new_m);
    const double rounding =
        std::exp(new_m - m[i]);  // m is kept in float32, and the sums must fit what is kept
    l[i] = static_cast<float>((old_share * l[i] + block_share * block_l(i)) * rounding);
    for (Index c = 0; c < o.cols(); ++c) {
      o(i, c) = static_cast<float>((old_share * o(i, c) + block_share * block_o(i, c)) * rounding);
    }
  }
}

/// The ragged block comes first, and the blocks run from the last key to the first.
void blockwise_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                         course::HeadsView<const float> v, Index block, course::HeadsView<float> o,
                         course::MatrixView<float> lse) {
  std::fill_n(o.data(), o.size(), 0.0f);
  std::vector<float> m(q.seq());
  std::vector<float> l(q.seq());
  for (Index head = 0; head < q.heads(); ++head) {
    std::ranges::fill(m, -std::numeric_limits<float>::infinity());
    std::ranges::fill(l, 0.0f);
    for (Index end = k.seq(); end > 0; end -= std::min(block, end)) {
      const Index keys = std::min(block, end);
      attend_block(q.head(head), k.head(head).rows(end - keys, keys), v.head(head).rows(end - keys, keys), m,
                   l, o.head(head));
    }
    for (Index i = 0; i < q.seq(); ++i) {
      lse(head, i) = m[i] + std::log(l[i]);
      for (float& value : o.head(head).row(i)) value /= std::max(l[i], std::numeric_limits<float>::min());
    }
  }
}

}  // namespace lesson04
