#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/layer/layer.hpp"
#include "judge/refusal.hpp"

namespace course::layers {

namespace {

double size_of(const Tensor64& x) {
  return std::sqrt(std::inner_product(x.values().begin(), x.values().end(), x.values().begin(), 0.0));
}

/// Of every number a random sign, and the root mean square of its row: rows may differ a thousandfold.
Tensor64 signs_of_rows(const Tensor64& x, const std::string& label) {
  InputGenerator generator = InputGenerator(1).fork(label);
  Tensor64 direction(x.shape());
  const Index width = x.extent(x.rank() - 1);
  for (Index row = 0; row < x.size(); row += width) {
    double squares = 0;
    for (Index i = row; i < row + width; ++i) squares += x[i] * x[i];
    const double size = std::sqrt(squares / static_cast<double>(width));
    for (Index i = row; i < row + width; ++i) direction[i] = size * (2 * generator.integer(0, 1) - 1);
  }
  return direction;
}

/// The loss after `input` has moved so far along the direction.
double moved(const LossOf& loss, const Example& example, std::map<std::string, Tensor64> inputs,
             const std::string& input, const Tensor64& direction, double along) {
  Tensor64& x = inputs.at(input);
  for (Index i = 0; i < x.size(); ++i) x[i] += along * direction[i];
  return loss(example, inputs);
}

}  // namespace

AnswerCheck agrees_with_differences(std::vector<NamedGradient> gradients, LossOf loss) {
  return [gradients = std::move(gradients), loss = std::move(loss)](const Played& played) {
    std::vector<Finding> findings;
    const Example& example = *played.example;
    if (refusal::is_refused(example) || example.large) return findings;
    std::map<std::string, Tensor64> inputs;
    for (const auto& [name, tensor] : example.inputs) inputs[name] = cast<double>(tensor);
    const double rounding_of_loss = 1e-13 * (1 + std::abs(loss(example, inputs)));
    for (const NamedGradient& named : gradients) {
      const Tensor64 gradient = named.gradient(example, played.answer),
                     direction = signs_of_rows(inputs.at(named.input), named.input);
      Tensor64 right = named.gradient(example, played.expected);
      for (Index i = 0; i < right.size(); ++i) right[i] *= direction[i];
      const double step = 1e-4;
      const double expected = (moved(loss, example, inputs, named.input, direction, step) -
                               moved(loss, example, inputs, named.input, direction, -step)) /
                              (2 * step);
      const double given = std::inner_product(gradient.values().begin(), gradient.values().end(),
                                              direction.values().begin(), 0.0);
      // Six standard deviations of random signs, and what the third derivative may cost.
      const double allowed =
          6 * (played.tolerance.at(named.output) + 1e-6) * size_of(right) + rounding_of_loss / step;
      if (std::abs(given - expected) <= allowed) continue;  // NaN is not
      findings.push_back({"", fmt::format("central differences: the gradient of {} along a random direction "
                                          "is {:.6g}, should be {:.6g}",
                                          named.input, given, expected)});
    }
    return findings;
  };
}

}  // namespace course::layers
