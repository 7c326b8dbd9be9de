#include <algorithm>
#include <cmath>

#include "judge/layer/layer.hpp"

namespace course::layers {

namespace {

constexpr int draws = 8;

/// Labels, for one.
bool holds_whole_numbers(const Tensor& x) {
  return std::ranges::all_of(x.values(), [](float value) { return value == std::trunc(value); });
}

/// Every number but bytes and labels is up to a step of float32 larger or smaller, and rounded.
Example rounded_otherwise(const Example& example, InputGenerator& generator) {
  Example other = example;
  other.worked = nullptr;
  for (auto& [name, tensor] : other.inputs) {
    if (holds_whole_numbers(tensor)) continue;
    for (float& value : tensor.values())
      value = static_cast<float>(value * (1 + generator.uniform(-0x1p-23, 0x1p-23)));
  }
  return other;
}

}  // namespace

std::function<Answer(const Example&)> drawn_rounding(Answer (*baseline)(const Example&),
                                                     Answer (*expected)(const Example&)) {
  return [=](const Example& example) {
    const Answer right = expected(example);
    Answer rounding;
    for (const auto& [name, tensor] : right) rounding[name] = Tensor64(tensor.shape());
    InputGenerator generator = InputGenerator(19).fork(example.what);
    const int count = example.large ? 1 : draws;
    for (int draw = 0; draw < count; ++draw) {
      for (const auto& [name, given] : baseline(rounded_otherwise(example, generator))) {
        Tensor64& squares = rounding.at(name);
        for (Index i = 0; i < given.size(); ++i) squares[i] += std::pow(given[i] - right.at(name)[i], 2);
      }
    }
    for (auto& [name, squares] : rounding)
      for (double& value : squares.values()) value = std::sqrt(value / count);
    return rounding;
  };
}

}  // namespace course::layers
