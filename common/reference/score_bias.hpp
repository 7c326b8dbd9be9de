#pragma once

#include <span>
#include <vector>

#include "reference/mask.hpp"
#include "tensor/tensor.hpp"

namespace course::reference {

/// What is added to the scaled scores of a head beside its mask; a number a head of q, or none.
struct HeadBias {
  std::vector<double> slopes = {};  ///< a score is less by slope * distance (Press et al. 2021, ALiBi)
  std::vector<double> sinks = {};   ///< the score of one key more, whose value is 0

  bool is_none() const { return slopes.empty() && sinks.empty(); }
};

/// ALiBi's: 2^(-8 (h + 1) / heads) for a power of two; else those of the power of two below, and then every
/// other one of the next, from its first on. Source: Press et al. 2021.
std::vector<double> alibi_slopes(Index heads);

/// All of it as one tensor [heads, queries, keys], which attention() takes as its bias: -inf where the mask
/// hides a key; with sinks, [heads, queries, keys + 1], the sink's score last. Keys are at the positions 0 ..
/// keys - 1, queries at these.
template <class T>
TensorOf<T> score_bias(const Mask& mask, const HeadBias& bias, Index heads, std::span<const Index> queries,
                       Index keys);

/// k or v [kv_heads, keys, width], with a key of zeros behind it where there are sinks.
template <class T>
TensorOf<T> with_sink(TensorOf<T> x, const HeadBias& bias);

}  // namespace course::reference
