#include "course/selftest/test_rows.hpp"

namespace course::program {

TestCounts count(const std::vector<TestRow>& rows) {
  TestCounts counts;
  for (const TestRow& row : rows) {
    switch (row.outcome) {
      case TestRow::Outcome::Passed:
        ++counts.passed;
        break;
      case TestRow::Outcome::Failed:
        ++counts.failed;
        break;
      case TestRow::Outcome::Skipped:
        ++counts.skipped;
        break;
    }
  }
  return counts;
}

std::string summary(const std::vector<TestRow>& rows) {
  const TestCounts counts = count(rows);
  std::string skipped;
  for (const TestRow& row : rows) {
    if (row.outcome == TestRow::Outcome::Skipped) skipped += (skipped.empty() ? ": " : ", ") + row.name;
  }
  return std::to_string(counts.passed) + " passed, " + std::to_string(counts.failed) + " failed, " +
         std::to_string(counts.skipped) + " skipped" + skipped;
}

}  // namespace course::program
