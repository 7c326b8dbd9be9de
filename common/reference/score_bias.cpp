#include "reference/score_bias.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace course::reference {

std::vector<double> alibi_slopes(Index heads) {
  Index power = 1;
  while (2 * power <= heads) power *= 2;
  const auto slope = [](Index head, Index of) {
    return std::exp2(-8.0 * static_cast<double>(head) / static_cast<double>(of));
  };
  std::vector<double> slopes;
  for (Index head = 1; head <= power; ++head) slopes.push_back(slope(head, power));
  for (Index head = 1; std::ssize(slopes) < heads; head += 2) slopes.push_back(slope(head, 2 * power));
  return slopes;
}

template <class T>
TensorOf<T> score_bias(const Mask& mask, const HeadBias& bias, Index heads, std::span<const Index> queries,
                       Index keys) {
  const Index sink = bias.sinks.empty() ? 0 : 1;
  TensorOf<T> scores({heads, std::ssize(queries), keys + sink}, -std::numeric_limits<T>::infinity());
  for (Index head = 0; head < heads; ++head) {
    const double slope = bias.slopes.empty() ? 0 : bias.slopes[head];
    for (Index i = 0; i < std::ssize(queries); ++i) {
      const std::span<T> row = scores.heads().head(head).row(i);
      const auto [first, last] = mask.keys(queries[i]);
      for (Index j = first; j < std::min(last, keys); ++j)
        row[j] = static_cast<T>(-slope * static_cast<double>(std::abs(queries[i] - j)));
      if (sink > 0) row[keys] = static_cast<T>(bias.sinks[head]);
    }
  }
  return scores;
}

template <class T>
TensorOf<T> with_sink(TensorOf<T> x, const HeadBias& bias) {
  if (bias.sinks.empty()) return x;
  return concatenate<T>({x, TensorOf<T>({x.extent(0), 1, x.extent(2)})}, 1);
}

template Tensor score_bias(const Mask&, const HeadBias&, Index, std::span<const Index>, Index);
template Tensor64 score_bias(const Mask&, const HeadBias&, Index, std::span<const Index>, Index);
template Tensor with_sink(Tensor, const HeadBias&);
template Tensor64 with_sink(Tensor64, const HeadBias&);

}  // namespace course::reference
