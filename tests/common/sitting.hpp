#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "judge/diagnosis/verdict.hpp"

namespace course {

using AnswerOf = std::function<Answer(const Example&)>;

/// What somebody who computes `answer` returns: float32, of several ranks their rows along the axis.
inline Outcome returned(const Answer& answer, const Layout& layout = {}, Index axis = 1) {
  Outcome outcome;
  outcome.ending = Outcome::Ending::Finished;
  for (int rank = 0; rank < std::max(1, layout.ranks()); ++rank) {
    std::map<std::string, Tensor>& outputs = outcome.outputs.emplace_back();
    for (const auto& [name, tensor] : answer) {
      const Tensor whole = cast<float>(tensor);
      outputs[name] = layout.ranks() == 0 ? whole : layout.shard(whole, axis, rank);
    }
  }
  return outcome;
}

/// The output o, which is the same on every input.
inline Answer only_o(std::vector<double> values) {
  const Index size = std::ssize(values);
  return {{"o", Tensor64({size}, std::move(values))}};
}

inline AnswerOf always(std::vector<double> values) {
  return [answer = only_o(std::move(values))](const Example&) { return answer; };
}

/// A task on one rank with the output o, where `right` is, and the mistakes that give these.
inline Task task_of_o(std::vector<double> right, const std::map<std::string, std::vector<double>>& mistakes) {
  Task task{.id = "1",
            .function = "f",
            .outputs = {{"o", {"row"}}},
            .examples = {},
            .expected = always(right),
            .baseline = always(right)};
  for (const auto& [id, values] : mistakes) task.mistakes.push_back({id, always(values)});
  return task;
}

/// What came of some inputs of a task. Its parts point to each other: it is not copied.
class Sitting {
 public:
  explicit Sitting(Task played_task) : task(std::move(played_task)) {}
  Sitting(Task played_task, std::vector<Example> examples, const AnswerOf& answer)
      : Sitting(std::move(played_task)) {
    for (Example& example : examples) play(std::move(example), answer);
  }
  Sitting(const Sitting&) = delete;
  Sitting& operator=(const Sitting&) = delete;

  void play(Example example, Outcome outcome) {
    examples_.push_back(std::move(example));
    outcomes_.push_back(std::move(outcome));
    played.push_back(compare(task, examples_.back(), task.expected(examples_.back()), outcomes_.back()));
  }
  void play(Example example, const AnswerOf& answer) {
    Outcome outcome = returned(answer(example), example.layout);
    play(std::move(example), std::move(outcome));
  }

  std::vector<const Played*> all() const {
    std::vector<const Played*> pointers;
    for (const Played& one : played) pointers.push_back(&one);
    return pointers;
  }

  /// What as_if() says of the first.
  std::string as_if() const { return course::as_if(task, played.front(), all()); }

  TestVerdict verdict(bool hidden = false, bool alone = false, int ranks = 0) const {
    const GradedTest test{&task, ranks, hidden};
    std::vector<PlayedTest> tests{{&test, {played.begin(), played.end()}}};
    judge(tests, alone);
    return tests[0].verdict;
  }

  const Task task;
  std::deque<Played> played;

 private:
  std::deque<Example> examples_;
  std::deque<Outcome> outcomes_;
};

}  // namespace course
