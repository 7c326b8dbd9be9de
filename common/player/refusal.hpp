#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>

#include "player/adapter.hpp"

namespace course {

/// Calls it; of a case with the argument refuses, numbers that its message has to name, the output refusal
/// says what it does: 1 for std::invalid_argument that names all, 0 for one that does not, -1 for none. All
/// other outputs are zeros then.
template <class Function>
void call_or_refuse(Call& call, Function function) {
  if (!call.is_given("refuses")) {
    call.output("refusal", {0});
    return function();
  }
  float said = -1;
  try {
    function();
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    const auto is_named = [&](int number) { return text.find(std::to_string(number)) != std::string::npos; };
    said = std::ranges::all_of(call.integers("refuses"), is_named) ? 1 : 0;
  }
  call.output("refusal", {1})[0] = said;
  for (const auto& [name, tensor] : call.outputs())
    if (name != "refusal") std::ranges::fill(call.output(name, tensor.shape()).values(), 0.0f);
}

}  // namespace course
