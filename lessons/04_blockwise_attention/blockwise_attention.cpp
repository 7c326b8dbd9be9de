#include "blockwise_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson04 {

using course::Index;

void attend_block(course::MatrixView<const float> q, course::MatrixView<const float> k,
                  course::MatrixView<const float> v, std::span<float> m, std::span<float> l,
                  course::MatrixView<float> o) {
  // Scores first. What must happen to l and o before terms with a larger maximum are added to them?
  // What does a query bring along that has seen nothing? What is left to do when there is no key?
  throw course::NotImplemented("task 1, one block");
}

void blockwise_attention(course::HeadsView<const float> q, course::HeadsView<const float> k,
                         course::HeadsView<const float> v, Index block, course::HeadsView<float> o,
                         course::MatrixView<float> lse) {
  // Every head starts with queries that have seen nothing. How long is the last block?
  // What turns o, m and l into the answer, and when?
  throw course::NotImplemented("task 2, all blocks");
}

}  // namespace lesson04
