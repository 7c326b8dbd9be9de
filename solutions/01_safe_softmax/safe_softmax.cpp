#include "safe_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lesson/not_implemented.hpp"

namespace lesson01 {

//> task 1
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

float maximum(std::span<const float> row) {
  float m = minus_infinity;
  for (const float score : row) m = std::max(m, score);
  return m;
}

}  // namespace

//< task 1
void softmax(course::MatrixView<const float> x, course::MatrixView<float> p) {
  //> task 1
  //| // For each row: its maximum, then the exponentials and their sum, then a division.
  //| // Which rows have no maximum to subtract?
  //| throw course::NotImplemented("task 1, softmax");
  for (course::Index i = 0; i < x.rows(); ++i) {
    const float m = maximum(x.row(i));
    if (m == minus_infinity) {
      std::ranges::fill(p.row(i), 0.0f);
      continue;
    }
    float l = 0.0f;
    for (course::Index j = 0; j < x.cols(); ++j) {
      p(i, j) = std::exp(x(i, j) - m);
      l += p(i, j);
    }
    for (float& weight : p.row(i)) weight /= l;
  }
  //< task 1
}

void logsumexp(course::MatrixView<const float> x, std::span<float> lse) {
  //> task 2
  //| // log sum exp(x) = m + log sum exp(x - m). What is it for a row that is masked throughout?
  //| throw course::NotImplemented("task 2, logsumexp");
  for (course::Index i = 0; i < x.rows(); ++i) {
    const float m = maximum(x.row(i));
    float l = 0.0f;
    if (m != minus_infinity) {
      for (const float score : x.row(i)) l += std::exp(score - m);
    }
    lse[i] = m + std::log(l);
  }
  //< task 2
}

}  // namespace lesson01
