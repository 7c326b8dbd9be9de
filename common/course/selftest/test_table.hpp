#pragma once

#include <string>
#include <vector>

#include "course/selftest/test_rows.hpp"
#include "registry/registry.hpp"

namespace course::program {

/// A line a lesson: how many mutants there are, failed and were named, of the named ones how many by their
/// answer and by an instrument, and how many variants and combinations went as they should. Lessons without
/// any are left out.
std::string test_table(const std::vector<LessonInfo>& lessons, const std::vector<TestRow>& rows);

/// The slowest tests, a line each.
std::string slowest_tests(std::vector<TestRow> rows, std::size_t how_many);

}  // namespace course::program
