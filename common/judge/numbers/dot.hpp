#pragma once

#include <iterator>
#include <numeric>

namespace course {

/// The sum of a_i b_i, added up in T; both are equally long.
template <class T = double, class A, class B>
T dot(const A& a, const B& b) {
  return std::inner_product(std::begin(a), std::end(a), std::begin(b), T{0});
}

}  // namespace course
