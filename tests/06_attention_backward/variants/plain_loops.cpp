#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "attention_backward.hpp"

namespace lesson06 {

using course::Index;

namespace {

float dot(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0f);
}

/// to += factor * from.
void add(float factor, std::span<const float> from, std::span<float> to) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * from[c];
}

}  // namespace

void softmax_backward(course::MatrixView<const float> p, course::MatrixView<const float> dp,
                      std::span<const float> d_lse, course::MatrixView<float> ds) {
  for (Index i = 0; i < p.rows(); ++i) {
    for (Index j = 0; j < p.cols(); ++j) {
      float sum = d_lse[i];
      for (Index k = 0; k < p.cols(); ++k) sum += ((j == k ? 1.0f : 0.0f) - p(i, k)) * dp(i, k);
      ds(i, j) = p(i, j) * sum;
    }
  }
}

void block_backward(course::MatrixView<const float> q, course::MatrixView<const float> k,
                    course::MatrixView<const float> v, course::MatrixView<const float> d_o,
                    std::span<const float> lse, std::span<const float> delta, std::span<const Index> visible,
                    course::MatrixView<float> dq, course::MatrixView<float> dk,
                    course::MatrixView<float> dv) {
  const float root = std::sqrt(static_cast<float>(q.cols()));
  for (Index i = 0; i < q.rows(); ++i) {
    for (Index j = 0; j < visible[i]; ++j) {
      const float p = std::exp(dot(q.row(i), k.row(j)) / root - lse[i]);
      const float ds = p * (dot(d_o.row(i), v.row(j)) - delta[i]) / root;
      add(p, d_o.row(i), dv.row(j));
      add(ds, k.row(j), dq.row(i));
      add(ds, q.row(i), dk.row(j));
    }
  }
}

void attention_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                        course::HeadsView<const float> v, course::HeadsView<const float> o,
                        course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                        course::MatrixView<const float> d_lse, std::span<const Index> visible, Index,
                        course::HeadsView<float> dq, course::HeadsView<float> dk,
                        course::HeadsView<float> dv) {
  for (const auto& gradient : {dq, dk, dv}) std::fill_n(gradient.data(), gradient.size(), 0.0f);
  for (Index head = 0; head < q.heads(); ++head) {
    std::vector<float> delta(q.seq());
    for (Index i = 0; i < q.seq(); ++i) {
      delta[i] = dot(o.head(head).row(i), d_o.head(head).row(i)) - d_lse(head, i);
    }
    block_backward(q.head(head), k.head(head), v.head(head), d_o.head(head), lse.row(head), delta, visible,
                   dq.head(head), dk.head(head), dv.head(head));
  }
}

}  // namespace lesson06
