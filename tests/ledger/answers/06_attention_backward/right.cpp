#include "attention_backward.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson06 {

using course::Index;

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::Map<const Matrix> as_eigen(course::MatrixView<const float> view) {
  return {view.data(), view.rows(), view.cols()};
}

Eigen::Map<Matrix> as_eigen(course::MatrixView<float> view) {
  return {view.data(), view.rows(), view.cols()};
}

/// A tile's weights and their gradients are made and used while they are still in the cache.
constexpr Index tile_queries = 256;

}  // namespace

void softmax_backward(course::MatrixView<const float> p, course::MatrixView<const float> dp,
                      std::span<const float> d_lse, course::MatrixView<float> ds) {
  for (Index i = 0; i < p.rows(); ++i) {
    const auto p_row = as_eigen(p).row(i);
    const auto dp_row = as_eigen(dp).row(i);
    const float delta = p_row.dot(dp_row) - d_lse[i];
    as_eigen(ds).row(i) = p_row.array() * (dp_row.array() - delta);
  }
}

void block_backward(course::MatrixView<const float> q, course::MatrixView<const float> k,
                    course::MatrixView<const float> v, course::MatrixView<const float> d_o,
                    std::span<const float> lse, std::span<const float> delta, std::span<const Index> visible,
                    course::MatrixView<float> dq, course::MatrixView<float> dk,
                    course::MatrixView<float> dv) {
  const Index keys = k.rows();
  const float scale = 1.0f / std::sqrt(static_cast<float>(q.cols()));
  Matrix p;
  Matrix ds;
  for (Index first = 0; first < q.rows(); first += tile_queries) {
    const Index queries = std::min(tile_queries, q.rows() - first);
    const auto q_tile = as_eigen(q.rows(first, queries));
    const auto d_o_tile = as_eigen(d_o.rows(first, queries));

    p.noalias() = scale * q_tile * as_eigen(k).transpose();
    ds.noalias() = d_o_tile * as_eigen(v).transpose();  // so far this is dp
    for (Index i = 0; i < queries; ++i) {
      const Index seen = visible[first + i];
      course::exponentiate({p.row(i).data(), static_cast<std::size_t>(seen)}, lse[first + i]);
      auto p_row = p.row(i).array();
      auto ds_row = ds.row(i).array();
      p_row.tail(keys - seen) = 0;
      ds_row = scale * p_row * (ds_row - delta[first + i]);  // dq and dk both want it scaled
    }
    as_eigen(dv).noalias() += p.transpose() * d_o_tile;
    as_eigen(dq.rows(first, queries)).noalias() += ds * as_eigen(k);
    as_eigen(dk).noalias() += ds.transpose() * q_tile;
  }
}

void attention_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                        course::HeadsView<const float> v, course::HeadsView<const float> o,
                        course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                        course::MatrixView<const float> d_lse, std::span<const Index> visible, Index block,
                        course::HeadsView<float> dq, course::HeadsView<float> dk,
                        course::HeadsView<float> dv) {
  for (const auto& gradient : {dq, dk, dv}) std::fill_n(gradient.data(), gradient.size(), 0.0f);
  std::vector<float> delta(q.seq());
  std::vector<Index> seen(q.seq());
  for (Index head = 0; head < q.heads(); ++head) {
    for (Index i = 0; i < q.seq(); ++i) {
      const auto o_row = as_eigen(o.head(head)).row(i);
      delta[i] = o_row.dot(as_eigen(d_o.head(head)).row(i)) - d_lse(head, i);
    }
    for (Index first = 0; first < k.seq(); first += block) {
      const Index keys = std::min(block, k.seq() - first);
      for (Index i = 0; i < q.seq(); ++i) seen[i] = std::clamp<Index>(visible[i] - first, 0, keys);
      block_backward(q.head(head), k.head(head).rows(first, keys), v.head(head).rows(first, keys),
                     d_o.head(head), lse.row(head), delta, seen, dq.head(head),
                     dk.head(head).rows(first, keys), dv.head(head).rows(first, keys));
    }
  }
}

}  // namespace lesson06
