#pragma once

#include "judge/task.hpp"
#include "reference/softmax.hpp"

namespace course {

/// Softmax-weighed means of values [n, d] that may differ from row to row, and the logsumexps.
template <class T, class Values>
Answer weighed(const TensorOf<T>& scores, Index d, const Values& value) {
  const reference::Softmax<T> softmax = reference::softmax(scores);
  TensorOf<T> o({scores.extent(0), d});
  for (Index row = 0; row < o.extent(0); ++row) {
    for (Index j = 0; j < scores.extent(1); ++j) {
      for (Index c = 0; c < d; ++c) o.matrix()(row, c) += softmax.p.matrix()(row, j) * value(row, j, c);
    }
  }
  return {{"o", cast<double>(o)}, {"lse", cast<double>(softmax.lse)}};
}

}  // namespace course
