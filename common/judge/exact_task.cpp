#include "judge/exact_task.hpp"

namespace course {

Task exact_task(std::string id, std::string function, std::vector<Output> outputs,
                std::vector<Example> (*examples)(InputGenerator&, int),
                const std::function<Answer(const Example&)>& right) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = std::move(outputs),
          .examples = examples,
          .expected = right,
          .baseline = right};
}

}  // namespace course
