#pragma once

#include <cmath>

#include "judge/attention/gradient_checks.hpp"
#include "judge/numbers/dot.hpp"

/// What the judges of attention's backward pass have in common, on one rank or round a ring.
namespace course {

/// A function that gives dq, dk and dv, each [heads, tokens, head_dim], joined along the tokens: held to the
/// reference's gradients of an example's `problem` and to the checks of gradients. Its examples, baseline and
/// mistakes are still to be said.
Task gradients_task(std::string id, std::string function, const ProblemOf& problem);

/// A backward pass's wrong steps, switches of it, by the mistakes' ids.
template <class Steps>
using MistakeTable = std::vector<std::pair<std::string, Steps>>;

/// What `gradients` of steps and an example gives for each of them.
template <class Steps>
std::vector<Mistake> mistakes_of(const MistakeTable<Steps>& table,
                                 Answer (*gradients)(const Steps&, const Example&)) {
  std::vector<Mistake> all;
  for (const auto& [id, steps] : table) {
    all.push_back(
        {id, [gradients, steps = steps](const Example& example) { return gradients(steps, example); }});
  }
  return all;
}

/// factor a b^T for a [rows, d] and b [cols, d].
template <class T>
TensorOf<T> times_transposed(T factor, MatrixView<const T> a, MatrixView<const T> b) {
  TensorOf<T> product({a.rows(), b.rows()});
  for (Index i = 0; i < a.rows(); ++i) {
    for (Index j = 0; j < b.rows(); ++j) product.matrix()(i, j) = factor * dot<T>(a.row(i), b.row(j));
  }
  return product;
}

template <class T>
TensorOf<T> transposed(const TensorOf<T>& x) {
  TensorOf<T> made({x.extent(1), x.extent(0)});
  for (Index i = 0; i < x.size(); ++i) made.matrix()(i % x.extent(1), i / x.extent(1)) = x[i];
  return made;
}

/// Adds factor weights x to `sum`, for weights [rows, cols] and x [cols, d]: over the rows of x from `first`
/// on.
template <class T>
void add_product(MatrixView<T> sum, T factor, const TensorOf<T>& weights, MatrixView<const T> x,
                 Index first = 0) {
  for (Index r = 0; r < sum.rows(); ++r) {
    for (Index c = first; c < x.rows(); ++c) {
      const T share = factor * weights.matrix()(r, c);
      for (Index d = 0; d < sum.cols(); ++d) sum(r, d) += share * x(c, d);
    }
  }
}

/// The backward pass of one head, q and d_o [queries, d] against k and v [keys, d], with all of its weights
/// in memory. Of these it has the scores and dP; who owns it fills in the weights and the gradients of the
/// scores, and adds the products up: dq = scale dS k, dk = scale dS^T q, dv = P^T d_o.
template <class T>
struct DenseHead {
  using View = MatrixView<const T>;
  DenseHead(View queries, View keys, View values, View gradient)
      : q(queries),
        k(keys),
        d_o(gradient),
        scale(1 / std::sqrt(static_cast<T>(q.cols()))),
        s(times_transposed(scale, q, k)),
        dp(times_transposed(T{1}, d_o, values)),
        p(s.shape()),
        ds(s.shape()) {}

  View q, k, d_o;
  T scale;            ///< 1 / sqrt(d)
  TensorOf<T> s, dp;  ///< [queries, keys]: scale q k^T and d_o v^T
  TensorOf<T> p, ds;  ///< [queries, keys], zeros at first
};

}  // namespace course
