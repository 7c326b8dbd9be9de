#include "reference/softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace course::reference {

namespace {

template <class T>
constexpr T minus_infinity = -std::numeric_limits<T>::infinity();

/// NaN where a score is NaN, so that a NaN beside -inf is not taken for a masked row.
template <class T>
T maximum(std::span<const T> row) {
  T m = minus_infinity<T>;
  for (const T s : row) {
    if (std::isnan(s)) return s;
    m = std::max(m, s);
  }
  return m;
}

}  // namespace

template <class T>
T softmax_in_place(std::span<T> row) {
  const T m = maximum<T>(row);
  if (m == minus_infinity<T>) {
    std::fill(row.begin(), row.end(), T{0});
    return m;
  }
  for (T& s : row) s = std::exp(s - m);
  const T l = std::reduce(row.begin(), row.end());  // in several sums, which lose less than one
  for (T& p : row) p /= l;
  return m + std::log(l);
}

template <class T>
Softmax<T> softmax(const TensorOf<T>& x) {
  Softmax<T> result{x, TensorOf<T>({x.matrix().rows()})};
  for (Index row = 0; row < result.lse.size(); ++row) {
    result.lse[row] = softmax_in_place(result.p.matrix().row(row));
  }
  return result;
}

template float softmax_in_place(std::span<float>);
template double softmax_in_place(std::span<double>);
template Softmax<float> softmax(const TensorOf<float>&);
template Softmax<double> softmax(const TensorOf<double>&);

}  // namespace course::reference
