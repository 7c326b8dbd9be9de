#include "player/earlier_calls.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace course {

namespace {

bool is_whole(float number) {
  return number == std::trunc(number);
}

/// Half of each, so that what is no shift of all scores changes every answer. Whole numbers may count
/// something or be positions: where there are others they stay, and else rows change places, which leaves
/// them as good as they were.
void change_between_ends(Tensor& tensor) {
  if (tensor.size() < 3) return;
  if (std::ranges::all_of(tensor.values(), is_whole)) {
    const Index rows = tensor.extent(0), columns = tensor.size() / rows;
    for (Index low = 1, high = rows - 2; low < high; ++low, --high)
      std::swap_ranges(&tensor[low * columns], &tensor[low * columns] + columns, &tensor[high * columns]);
    return;
  }
  for (float& number : std::span(tensor.values()).subspan(1, static_cast<std::size_t>(tensor.size() - 2)))
    if (!is_whole(number)) number /= 2;
}

}  // namespace

std::vector<std::map<std::string, Tensor>> earlier_inputs(const std::map<std::string, Tensor>& inputs) {
  std::vector<std::map<std::string, Tensor>> all(earlier_calls, inputs);
  std::size_t place = 0;
  for (const auto& [name, tensor] : inputs) {
    change_between_ends(all[0].at(name));
    if (2 * place++ < inputs.size()) change_between_ends(all[1].at(name));
  }
  return all;
}

}  // namespace course
