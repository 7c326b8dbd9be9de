#include "online_softmax.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "lesson/not_implemented.hpp"

namespace lesson02 {

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  // From which maximum should the merged sum count? How do you turn a sum that counts from
  // a.m into one that counts from there? And if neither state has seen a finite score?
  throw course::NotImplemented("task 1, merge two states");
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  // What does a new maximum change in what you have summed so far, in l and in o? When is
  // the one division due? What has the row seen after a first block that is masked throughout?
  // (course::Index is signed and scores.size() is not; std::ssize(scores) is.)
  throw course::NotImplemented("task 2, one row in one pass");
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  // Which of the two, o or lse, must be read before the other is overwritten? Which
  // exponentials can overflow? And if one part, or both, have seen nothing?
  throw course::NotImplemented("task 3, merge two finished outputs");
}

}  // namespace lesson02
