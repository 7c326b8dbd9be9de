#pragma once

#include <string>
#include <vector>

namespace course::program {

/// How one of the course's own tests went.
struct TestRow {
  enum class Outcome { Passed, Failed, Skipped } outcome = Outcome::Failed;
  std::string name;
  std::string reason;  ///< "Timeout", "Failed"; of a skipped one, why
  std::string output;
  double seconds = 0;
};

struct TestCounts {
  int passed = 0;
  int failed = 0;
  int skipped = 0;
};

TestCounts count(const std::vector<TestRow>& rows);

/// "12 passed, 0 failed, 1 skipped: all.formatting"
std::string summary(const std::vector<TestRow>& rows);

}  // namespace course::program
