#include "safe_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lesson/not_implemented.hpp"

namespace lesson01 {

void softmax(course::MatrixView<const float> x, course::MatrixView<float> p) {
  // For each row: its maximum, then the exponentials and their sum, then a division.
  // Which rows have no maximum to subtract?
  throw course::NotImplemented("task 1, softmax");
}

void logsumexp(course::MatrixView<const float> x, std::span<float> lse) {
  // log sum exp(x) = m + log sum exp(x - m). What is it for a row that is masked throughout?
  throw course::NotImplemented("task 2, logsumexp");
}

}  // namespace lesson01
