#pragma once

#include "judge/task.hpp"

/// Arguments that a function has to refuse, in words that name numbers (player/refusal.hpp).
namespace course::refusal {

/// What a function says of them, and nothing of others.
Output output();

/// The example is to be refused, with these numbers in the message.
Example refusing(Example example, std::vector<double> numbers);
bool is_refused(const Example& example);

/// The output that says what the function does with them.
inline constexpr const char* output_name = "refusal";

/// The answer of an example that is not refused, with an empty refusal; of one that is, zeros of its shapes.
Answer with_refusal(const Example& example, Answer answer);

/// A task whose functions refuse: what is expected of the others is as it was.
Task with_refusals(Task task);
/// The same of a function that every rank calls, and that refuses on every one.
Task with_refusals_of_ranks(Task task);

}  // namespace course::refusal
