#pragma once

#include <numeric>
#include <span>

namespace course {

/// The sum of a_i b_i; both are equally long.
inline double dot(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace course
