#include "attention_backward.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson06 {

using course::Index;

void softmax_backward(course::MatrixView<const float> p, course::MatrixView<const float> dp,
                      std::span<const float> d_lse, course::MatrixView<float> ds) {
  // Each row has a Jacobian of its own. Must it be written down to be multiplied with?
  throw course::NotImplemented("task 1, the softmax backwards");
}

void block_backward(course::MatrixView<const float> q, course::MatrixView<const float> k,
                    course::MatrixView<const float> v, course::MatrixView<const float> d_o,
                    std::span<const float> lse, std::span<const float> delta, std::span<const Index> visible,
                    course::MatrixView<float> dq, course::MatrixView<float> dk,
                    course::MatrixView<float> dv) {
  // Recompute the block's weights first: what does exp need to give them already normalised?
  // What is the weight of a key that the query does not see? Which of the three gradients sum over queries?
  throw course::NotImplemented("task 2, one block backwards");
}

void attention_backward(course::HeadsView<const float> q, course::HeadsView<const float> k,
                        course::HeadsView<const float> v, course::HeadsView<const float> o,
                        course::MatrixView<const float> lse, course::HeadsView<const float> d_o,
                        course::MatrixView<const float> d_lse, std::span<const Index> visible, Index block,
                        course::HeadsView<float> dq, course::HeadsView<float> dk,
                        course::HeadsView<float> dv) {
  // One number a query must be known before its first block: which, and from what?
  // Where do the sums start? How many of a block's keys does a query see?
  throw course::NotImplemented("task 3, all blocks backwards");
}

}  // namespace lesson06
