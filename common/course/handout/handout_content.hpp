#pragma once

#include <functional>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// Whether a tracked file goes along as it is to students who get these lessons. What students edit, the
/// registry and README.md are made anew; of tests/ only what is known to disclose nothing goes along.
bool goes_along(const std::filesystem::path& file, const std::vector<LessonInfo>& lessons);

/// The text of lessons/registry.json with these lessons alone.
std::string registry_text(const std::string& whole, const std::vector<LessonInfo>& lessons);

/// A README without what stands between the lines "<!-- not in a handout -->" and "<!-- in a handout, too
/// -->". Throws std::invalid_argument where one stands without the other.
std::string without_instructors_parts(const std::string& readme);

/// README.md without the table rows, list items and pictures that link to files which `exists` (given the
/// link's target, from the root) denies, and without the titles of rows that then have none.
std::string without_dead_items(const std::string& readme,
                               const std::function<bool(const std::string&)>& exists);

/// Writes the students' copy of `course` into an empty folder. Throws Unavailable where a lesson has no
/// solution to cut its skeleton from.
void write_handout(const Checkout& course, const std::vector<LessonInfo>& lessons,
                   const std::filesystem::path& folder);

/// Puts a lesson's solution, with its reasons, in place of what `folder` has of it.
void write_solution(const Checkout& course, const LessonInfo& lesson, const std::filesystem::path& folder);

}  // namespace course::program
