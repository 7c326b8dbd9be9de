#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention_backward.hpp"

namespace lesson06 {

using course::Index;

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using MatrixF = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix widened(course::MatrixView<const float> view) {
  return Eigen::Map<const MatrixF>(view.data(), view.rows(), view.cols()).cast<double>();
}

void add(const Matrix& from, course::MatrixView<float> to) {
  Eigen::Map<MatrixF>(to.data(), to.rows(), to.cols()) += from.cast<float>();
}

/// Where lse is -inf, +inf takes its place: exp(s - inf) is 0 without a branch.
double safe(float lse) {
  return std::isinf(lse) ? std::numeric_limits<double>::infinity() : lse;
}

struct Block {
  Matrix p, ds;
};

Block block_of(const Matrix& q, const Matrix& k, const Matrix& v, const Matrix& d_o,
               std::span<const float> lse, std::span<const float> delta, std::span<const Index> visible) {
  Block block{q * k.transpose() / std::sqrt(static_cast<double>(q.cols())), d_o * v.transpose()};
  for (Index i = 0; i < q.rows(); ++i) {
    for (Index j = 0; j < k.rows(); ++j) {
      block.p(i, j) = j < visible[i] ? std::exp(block.p(i, j) - safe(lse[i])) : 0;
      block.ds(i, j) = block.p(i, j) * (block.ds(i, j) - delta[i]) / std::sqrt(static_cast<double>(q.cols()));
    }
  }
  return block;
}

}  // namespace

void softmax_backward(course::MatrixView<const float> p, course::MatrixView<const float> dp,
                      std::span<const float> d_lse, course::MatrixView<float> ds) {
  const Matrix weights = widened(p);
  const Matrix arriving = widened(dp);
  for (Index i = 0; i < p.rows(); ++i) {
    double delta = -d_lse[i];
    for (Index j = 0; j < p.cols(); ++j) delta += weights(i, j) * arriving(i, j);
    for (Index j = 0; j < p.cols(); ++j) {
      ds(i, j) = static_cast<float>(weights(i, j) * (arriving(i, j) - delta));
    }
  }
}

void block_backward(course::MatrixView<const float> q, course::MatrixView<const float> k,
                    course::MatrixView<const float> v, course::MatrixView<const float> d_o,
                    std::span<const float> lse, std::span<const float> delta, std::span<const Index> visible,
                    course::MatrixView<float> dq, course::MatrixView<float> dk,
                    course::MatrixView<float> dv) {
  const Block block = block_of(widened(q), widened(k), widened(v), widened(d_o), lse, delta, visible);
  add(block.p.transpose() * widened(d_o), dv);
  add(block.ds * widened(k), dq);
  add(block.ds.transpose() * widened(q), dk);
}

/// The blocks are walked twice: keys outside for dk and dv, then queries outside, the last keys first, for
/// dq. No sum is shared, so on several cores neither walk would need atomic additions.
void attention_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                        course::HeadsView<const float> v, course::HeadsView<const float> o,
                        course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                        course::MatrixView<const float> d_lse, std::span<const Index> visible, Index block,
                        course::HeadsView<float> dq, course::HeadsView<float> dk,
                        course::HeadsView<float> dv) {
  constexpr Index tile = 64;
  for (const auto& gradient : {dq, dk, dv}) std::fill_n(gradient.data(), gradient.size(), 0.0f);
  for (Index head = 0; head < q.heads(); ++head) {
    std::vector<float> delta(q.seq());
    for (Index i = 0; i < q.seq(); ++i) {
      double sum = -d_lse(head, i);
      for (Index c = 0; c < o.head_dim(); ++c) sum += o.head(head)(i, c) * d_o.head(head)(i, c);
      delta[i] = static_cast<float>(sum);
    }
    const auto visit = [&](Index query, Index key, bool for_dq) {
      const Index queries = std::min(tile, q.seq() - query);
      const Index keys = std::min(block, k.seq() - key);
      std::vector<Index> seen(queries);
      for (Index i = 0; i < queries; ++i) seen[i] = std::clamp<Index>(visible[query + i] - key, 0, keys);
      const Matrix q_tile = widened(q.head(head).rows(query, queries));
      const Matrix k_block = widened(k.head(head).rows(key, keys));
      const Matrix d_o_tile = widened(d_o.head(head).rows(query, queries));
      const Block made = block_of(q_tile, k_block, widened(v.head(head).rows(key, keys)), d_o_tile,
                                  lse.row(head).subspan(query, queries),
                                  std::span<const float>(delta).subspan(query, queries), seen);
      if (for_dq) {
        add(made.ds * k_block, dq.head(head).rows(query, queries));
      } else {
        add(made.p.transpose() * d_o_tile, dv.head(head).rows(key, keys));
        add(made.ds.transpose() * q_tile, dk.head(head).rows(key, keys));
      }
    };
    for (Index key = 0; key < k.seq(); key += block) {
      for (Index query = 0; query < q.seq(); query += tile) visit(query, key, false);
    }
    const Index blocks = (k.seq() + block - 1) / block;
    for (Index query = 0; query < q.seq(); query += tile) {
      for (Index b = blocks - 1; b >= 0; --b) visit(query, b * block, true);
    }
  }
}

}  // namespace lesson06
