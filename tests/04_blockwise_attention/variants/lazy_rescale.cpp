#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "blockwise_attention.hpp"

namespace lesson04 {

using course::Index;

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// How far scores may rise above m before everything is rescaled: exp(8) is nothing to float32.
constexpr float slack = 8.0f;

Eigen::Map<const Matrix> as_eigen(course::MatrixView<const float> view) {
  return {view.data(), view.rows(), view.cols()};
}

}  // namespace

/// m is a maximum seen some time ago, not always the largest so far: (m, l, o) is not unique.
void attend_block(course::MatrixView<const float> q, course::MatrixView<const float> k,
                  course::MatrixView<const float> v, std::span<float> m, std::span<float> l,
                  course::MatrixView<float> o) {
  if (k.rows() == 0 || q.rows() == 0) return;
  Eigen::Map<Matrix> o_all(o.data(), o.rows(), o.cols());
  Matrix p = as_eigen(q) * as_eigen(k).transpose() / std::sqrt(static_cast<float>(q.cols()));
  for (Index i = 0; i < q.rows(); ++i) {
    const float block_m = p.row(i).maxCoeff();
    if (block_m > m[i] + slack) {
      const float rescale = std::exp(m[i] - block_m);
      l[i] *= rescale;
      o_all.row(i) *= rescale;
      m[i] = block_m;
    }
    for (Index j = 0; j < k.rows(); ++j) p(i, j) = std::exp(p(i, j) - m[i]);
    l[i] += p.row(i).sum();
  }
  o_all += p * as_eigen(v);
}

/// All heads advance by a block before the next block is looked at.
void blockwise_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                         course::HeadsView<const float> v, Index block, course::HeadsView<float> o,
                         course::MatrixView<float> lse) {
  std::fill_n(o.data(), o.size(), 0.0f);
  std::fill_n(lse.data(), lse.size(), -std::numeric_limits<float>::infinity());  // holds m until the end
  std::vector<float> l(q.heads() * q.seq(), 0.0f);
  const course::MatrixView<float> l_rows(l.data(), q.heads(), q.seq());
  for (Index first = 0; first < k.seq(); first += block) {
    const Index keys = std::min(block, k.seq() - first);
    for (Index head = 0; head < q.heads(); ++head) {
      attend_block(q.head(head), k.head(head).rows(first, keys), v.head(head).rows(first, keys),
                   lse.row(head), l_rows.row(head), o.head(head));
    }
  }
  if (k.seq() == 0) return;
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      lse(head, i) += std::log(l_rows(head, i));
      for (float& value : o.head(head).row(i)) value /= l_rows(head, i);
    }
  }
}

}  // namespace lesson04
