#pragma once

#include <string>
#include <vector>

#include "judge/diagnosis/failure.hpp"

namespace course {

/// What is wrong on a hidden input, without a number of it: what a function throws, prints or hands over may
/// quote its input.
std::string without_values(const Task& task, const Played& played);

/// What is wrong with one example that was played by itself, and no word on why: a computation that explains
/// one answer may contradict the others, which a check has played.
std::string failure_text_alone(const Failure& shown);

/// What a person reads of a test that failed: what its answers look like where none of the verdict's mistakes
/// is a name for them, the failure that is shown, and what its numbers and the other inputs tell. Adds to the
/// verdict what it looks like in part.
/// @param all what was played of the task, at every world size
/// @param explaining the mistakes that explain it all
std::string failure_text(const PlayedTest& test, const std::vector<Failure>& failures, const Failure& shown,
                         const std::vector<const Played*>& all, const std::vector<std::string>& explaining,
                         TestVerdict& verdict);

}  // namespace course
