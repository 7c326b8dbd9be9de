#include "course/test_rows.hpp"

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

std::string to_string(const TestCounts& counts) {
  return std::to_string(counts.passed) + " passed, " + std::to_string(counts.failed) + " failed, " +
         std::to_string(counts.skipped) + " skipped";
}

}  // namespace course::program
