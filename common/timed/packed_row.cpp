#include "timed/packed_row.hpp"

namespace course::timed {

reference::Mask PackedRow::mask() const {
  return reference::Mask::packed(starts, causal, window);
}

void add_row(Case& to, const PackedRow& row) {
  to.arguments["starts"] = {row.starts.begin(), row.starts.end()};
  to.arguments["window"] = {static_cast<double>(row.window)};
  to.arguments["causal"] = {row.causal ? 1.0 : 0.0};
  const auto one_a_head = [](const std::vector<double>& numbers) {
    return cast<float>(Tensor64({std::ssize(numbers)}, numbers));
  };
  for (auto& inputs : to.inputs) {
    inputs.emplace("slopes", one_a_head(row.bias.slopes));
    inputs.emplace("sinks", one_a_head(row.bias.sinks));
  }
}

}  // namespace course::timed
