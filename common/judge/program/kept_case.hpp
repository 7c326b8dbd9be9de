#pragma once

#include <filesystem>
#include <string>

#include "judge/diagnosis/diagnose.hpp"

namespace course {

/// Writes a played case as a folder that can be played again (docs/case-format.md), by the same world ranks,
/// with what the ranks returned and reported under out/ and the right answer, whole and in float64, under
/// expected/.
void keep_case(const std::filesystem::path& folder, const Task& task, const Played& played,
               const DrawnCase& drawn);

/// Keeps beside a case what a check said of the test that it is of, and reads it; "" where nothing is kept.
void keep_diagnosis(const std::filesystem::path& folder, const std::string& text);
std::string kept_diagnosis(const std::filesystem::path& folder);

/// Throws std::runtime_error where the inputs of a kept case are not those of this example, which was drawn
/// again: the course has changed since.
void require_inputs_of(const Example& example, const Task& task, const std::filesystem::path& folder);

/// Draws a task's public examples and writes the one with the most numbers as a case for as many ranks, each
/// played by the world's rank of its own number. Throws std::invalid_argument where the task does not run on
/// so many.
void write_largest_case(const std::filesystem::path& folder, const Task& task, int ranks, std::uint64_t seed);

}  // namespace course
