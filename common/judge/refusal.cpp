#include "judge/refusal.hpp"

#include <algorithm>

namespace course::refusal {

Output output() {
  return {.name = output_name,
          .axes = {""},
          .called = "refusal (1: throws and names the number, 0: throws without, -1: does not throw)"};
}

Example refusing(Example example, std::vector<double> numbers) {
  example.arguments["refuses"] = std::move(numbers);
  return example;
}

bool is_refused(const Example& example) {
  return example.arguments.contains("refuses");
}

Answer with_refusal(const Example& example, Answer answer) {
  if (is_refused(example))
    for (auto& [name, tensor] : answer) std::ranges::fill(tensor.values(), 0);
  answer["refusal"] = is_refused(example) ? Tensor64({1}, 1) : Tensor64({0});
  return answer;
}

Task with_refusals(Task task) {
  const auto also = [](const std::function<Answer(const Example&)>& of) {
    return [of](const Example& example) { return with_refusal(example, of(example)); };
  };
  task.outputs.push_back(output());
  task.expected = also(task.expected);
  task.baseline = also(task.baseline);
  if (task.rounding) {
    task.rounding = [of = task.rounding](const Example& example) {
      Answer answer = with_refusal(example, of(example));
      std::ranges::fill(answer["refusal"].values(), 0);
      return answer;
    };
  }
  return task;
}

Task with_refusals_of_ranks(Task task) {
  task = with_refusals(std::move(task));
  task.outputs.back().axes = {"rank"};
  for (std::function<Answer(const Example&)> Task::*of :
       {&Task::expected, &Task::baseline, &Task::rounding}) {
    if (!(task.*of)) continue;
    task.*of = [once = task.*of](const Example& example) {
      Answer answer = once(example);
      Tensor64& said = answer.at(output_name);
      if (said.size() == 1) said = Tensor64({example.ranks()}, said[0]);
      return answer;
    };
  }
  return task;
}

}  // namespace course::refusal
