#include "vector_registers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson20 {

using course::lanes;
using course::Lanes;

void powers_of_two(std::span<const float> x, std::span<float> y) {
  // x = n + f. What puts n into a float's exponent? What is 2^f, for f from -1/2 to 1/2?
  throw course::NotImplemented("task 1, powers_of_two");
}

void score_tile(MatrixView<const float> k, MatrixView<const float> qt, std::span<const float> start,
                MatrixView<float> s) {
  // How many sums fit in the registers, beside what each step reads? Which of the two operands is in all
  // lanes at once?
  throw course::NotImplemented("task 2, score_tile");
}

void attend_block(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                  std::span<float> m, std::span<float> l, MatrixView<float> o) {
  // A query a lane. Which base do the scores have, and when does m change its unit? Where does O begin?
  throw course::NotImplemented("task 3, attend_block");
}

void block_backward(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                    MatrixView<const float> d_o, std::span<const float> lse, std::span<const float> delta,
                    std::span<const Index> visible, MatrixView<float> dq, MatrixView<float> dk,
                    MatrixView<float> dv) {
  // At what do the sums of scores and of dP begin? Which operand is in the lanes where a sum runs over the
  // queries?
  throw course::NotImplemented("task 4, block_backward");
}

}  // namespace lesson20
