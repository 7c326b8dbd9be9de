#pragma once

#include <cmath>

#include "judge/attention/gradient_checks.hpp"
#include "judge/numbers/dot.hpp"

/// What the judges of attention's backward pass have in common, on one rank or round a ring.
namespace course {

/// Wrong steps, each a setting of a backward pass's switches, by their mistakes' ids.
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

template <class T>
void add_scaled(std::span<T> to, T factor, std::span<const T> from) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * from[c];
}

/// One head of queries, q and d_o [queries, d], against keys, k and v [keys, d]. With P = exp(S - lse),
/// D = rowsum(o * d_o) and dS = P * (dP - D), query i and key j add P_ij d_o_i to dv_j, scale dS_ij k_j to
/// dq_i and scale dS_ij q_i to dk_j.
template <class T>
struct DenseHead {
  MatrixView<const T> q, k, v, d_o;
  T scale = 1 / std::sqrt(static_cast<T>(q.cols()));

  /// S_ij
  T score(Index i, Index j) const { return scale * dot<T>(q.row(i), k.row(j)); }
  /// dP_ij
  T dp(Index i, Index j) const { return dot<T>(d_o.row(i), v.row(j)); }
};

}  // namespace course
