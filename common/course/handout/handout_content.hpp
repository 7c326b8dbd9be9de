#pragma once

#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// Whether a tracked file goes along as it is to students who get these lessons. What students edit, the
/// registry and README.md are made anew; of tests/ only what is known to disclose nothing goes along.
bool goes_along(const std::filesystem::path& file, const std::vector<LessonInfo>& lessons);

/// Whether students edit a file of these lessons; an answer in Python is no file of the registry.
bool is_answer(const std::filesystem::path& file, const std::vector<LessonInfo>& lessons);

/// The text of lessons/registry.json with these lessons alone.
std::string registry_text(const std::string& whole, const std::vector<LessonInfo>& lessons);

/// Writes the students' copy of `course` into an empty folder. Throws Unavailable where a lesson has no
/// solution to cut its skeleton from.
void write_handout(const Checkout& course, const std::vector<LessonInfo>& lessons,
                   const std::filesystem::path& folder);

/// Puts a lesson's solution, with its reasons, in place of what `folder` has of it.
void write_solution(const Checkout& course, const LessonInfo& lesson, const std::filesystem::path& folder);

}  // namespace course::program
