#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/selftest/test_plan.hpp"
#include "course/selftest/test_rows.hpp"

namespace course::program {

/// Tests of one build tree to run.
struct TestOrder {
  std::filesystem::path tree;
  TestFilter filter;
  std::string prefix;  ///< before the names, such as "sanitize."
  int jobs = 1;
};

/// Runs them with ctest, with progress on stderr and what failed, in full, on stdout. One row a test.
std::vector<TestRow> run_tests(const TestOrder& order);

/// Prints a row that failed or was skipped.
void print_row(const TestRow& row);

}  // namespace course::program
