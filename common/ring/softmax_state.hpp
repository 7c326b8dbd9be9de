#pragma once

#include <limits>

namespace course {

/// What a softmax over part of a row needs to remember: m, the largest score seen, and l, the sum of
/// exp(score - m) over the scores seen. The part's logsumexp is m + log l. A new state has seen nothing.
/// The pair is not unique: any m gives the same state when l is scaled to match.
/// Source: Milakov and Gimelshein 2018, algorithm 3.
struct SoftmaxState {
  float m = -std::numeric_limits<float>::infinity();
  float l = 0.0f;
};

}  // namespace course
