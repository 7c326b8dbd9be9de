#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "registry/registry.hpp"

namespace course::program {

/// How one of the course's own tests went.
struct TestRow {
  enum class Outcome { Passed, Failed, Skipped } outcome = Outcome::Failed;
  std::string name;
  std::string reason;  ///< "Timeout", "Failed"; of a skipped one, why
  std::string output;
  double seconds = 0;
};

/// Prints a row that failed or was skipped.
void print_row(const TestRow& row);

/// "12 passed, 0 failed, 1 skipped: all.formatting"
std::string summary(const std::vector<TestRow>& rows);

/// The slowest tests, a line each.
std::string slowest_tests(std::vector<TestRow> rows, std::size_t how_many);

/// A line a lesson: how many mutants there are, failed and were named, of the named ones how many by their
/// answer and by an instrument, and how many variants and combinations went as they should. Lessons without
/// any are left out.
std::string test_table(const std::vector<LessonInfo>& lessons, const std::vector<TestRow>& rows);

/// Tests of one build tree to run.
struct TestOrder {
  std::filesystem::path tree;
  std::vector<std::string> filter;  ///< ctest's options for labels: {"-L", "^course$"}
  std::string prefix;               ///< before the names, such as "sanitize."
  int jobs = 1;
};

/// Runs them with ctest, with progress on stderr and what failed, in full, on stdout. One row a test. Throws
/// std::runtime_error with what ctest said where it cannot list them.
std::vector<TestRow> run_tests(const TestOrder& order);

// ---- parts of it ----

/// Takes the output of `ctest -V` apart, in which every line of a test starts with the test's number.
class CtestOutput {
 public:
  /// One more line; returns a test when the line says that it has ended.
  std::optional<TestRow> add(const std::string& line);

 private:
  std::map<int, std::string> outputs_;  ///< of the tests that run, by number
  int started_ = 0;  ///< the test that ctest prepares: what it says itself is about that one
};

/// What ctest remembers of earlier runs: seconds by test, from the text of its CTestCostData.txt.
std::map<std::string, double> parse_costs(const std::string& text);

/// How much of the work is left, from what each test took in earlier runs. One that never ran counts as much
/// as those of its kind do on average in this run; a kind is the first word of a name, such as "candidates".
/// Where none of its kind has finished it counts little: the longest tests come first, and most others only
/// read what these have found.
class Estimate {
 public:
  /// @param costs seconds by test
  Estimate(const std::vector<std::string>& tests, const std::map<std::string, double>& costs);

  void finished(const std::string& test, double seconds);
  /// Seconds left when `elapsed` have passed; negative while too little is known.
  double left(double elapsed) const;
  /// The tests that have not finished, with what they cost before.
  const std::map<std::string, std::optional<double>>& waiting() const { return waiting_; }

 private:
  std::map<std::string, std::optional<double>> waiting_;
  struct Kind {
    double seconds = 0;
    int count = 0;
  };
  std::map<std::string, Kind> finished_;
  Kind all_;  ///< of the finished
};

}  // namespace course::program
