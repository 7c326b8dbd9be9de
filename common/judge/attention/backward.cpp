#include "judge/attention/backward.hpp"

namespace course {

Task gradients_task(std::string id, std::string function, const ProblemOf& problem) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = {{"dq", {"head", "row", "col"}, 1},
                      {"dk", {"head", "row", "col"}, 1},
                      {"dv", {"head", "row", "col"}, 1}},
          .examples = {},
          .expected = [problem](const Example& example) { return right_gradients(problem(example)); },
          .baseline = {},
          .cancellation_free =
              [problem](const Example& example) { return cancellation_free_gradients(problem(example)); },
          .of_family = true,
          .answer_checks = {passes_gradient_checks(problem)},
          .largest_tolerance = largest_gradient_tolerance,
          .mistakes_cancel = true};
}

}  // namespace course
