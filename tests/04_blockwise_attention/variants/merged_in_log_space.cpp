#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "blockwise_attention.hpp"

namespace lesson04 {

using course::Index;

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Matrix> as_eigen(course::MatrixView<const float> view) {
  return {view.data(), view.rows(), view.cols()};
}

/// softmax(q k^T / sqrt(d)) v of one block, normalised, and its lse.
void attend_alone(course::MatrixView<const float> q, course::MatrixView<const float> k,
                  course::MatrixView<const float> v, Matrix& o, Eigen::VectorXf& lse) {
  Eigen::MatrixXf p =
      as_eigen(k) * as_eigen(q).transpose() / std::sqrt(static_cast<float>(q.cols()));  // [keys, queries]
  for (Index i = 0; i < q.rows(); ++i) {
    const float m = p.col(i).maxCoeff();
    p.col(i) = (p.col(i).array() - m).exp();
    const float l = p.col(i).sum();
    p.col(i) /= l;
    lse(i) = m + std::log(l);
  }
  o = p.transpose() * as_eigen(v);
}

}  // namespace

/// The state's own form: m is the lse so far, l is 1, o is normalised.
void attend_block(course::MatrixView<const float> q, course::MatrixView<const float> k,
                  course::MatrixView<const float> v, std::span<float> m, std::span<float> l,
                  course::MatrixView<float> o) {
  if (k.rows() == 0) return;
  Matrix block_o(q.rows(), v.cols());
  Eigen::VectorXf block_lse(q.rows());
  attend_alone(q, k, v, block_o, block_lse);
  for (Index i = 0; i < q.rows(); ++i) {
    const float lse = l[i] > 0.0f ? m[i] + std::log(l[i]) : m[i];
    const float larger = std::max(lse, block_lse(i));
    const float merged = larger + std::log(std::exp(lse - larger) + std::exp(block_lse(i) - larger));
    const float old_weight = std::exp(lse - merged) / (l[i] > 0.0f ? l[i] : 1.0f);
    const float block_weight = std::exp(block_lse(i) - merged);
    for (Index c = 0; c < o.cols(); ++c) o(i, c) = old_weight * o(i, c) + block_weight * block_o(i, c);
    m[i] = merged;
    l[i] = 1.0f;
  }
}

/// A tile of queries sees all keys before the next tile starts.
void blockwise_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                         course::HeadsView<const float> v, Index block, course::HeadsView<float> o,
                         course::MatrixView<float> lse) {
  constexpr Index tile = 7;
  std::fill_n(o.data(), o.size(), 0.0f);
  std::fill_n(lse.data(), lse.size(), -std::numeric_limits<float>::infinity());
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index first = 0; first < q.seq(); first += tile) {
      const Index queries = std::min(tile, q.seq() - first);
      float seen[tile] = {};
      for (Index key = 0; key < k.seq(); key += block) {
        const Index keys = std::min(block, k.seq() - key);
        attend_block(q.head(head).rows(first, queries), k.head(head).rows(key, keys),
                     v.head(head).rows(key, keys), lse.row(head).subspan(first, queries), seen,
                     o.head(head).rows(first, queries));
      }
    }
  }
}

}  // namespace lesson04
