#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace course::program {

/// Which tests of a build tree: labels are regular expressions that ctest searches for.
struct TestFilter {
  std::vector<std::string> all_of;  ///< a test carries a label for each
  std::string none_of;
  std::vector<std::string> ctest_arguments() const;
};

/// The names of the tests that the filter lets through. Throws std::runtime_error with what ctest said.
std::vector<std::string> list_tests(const std::filesystem::path& tree, const TestFilter& filter);

/// How much of the work is left, from what each test took in earlier runs; one that never ran counts as much
/// as those of this run do on average.
class Estimate {
 public:
  /// @param costs seconds by test
  Estimate(std::vector<std::string> tests, std::map<std::string, double> costs);

  void finished(const std::string& test, double seconds);
  /// Seconds left when `elapsed` have passed; negative while too little is known.
  double left(double elapsed) const;

 private:
  std::map<std::string, double> waiting_;  ///< cost by test, negative where unknown
  double finished_seconds_ = 0;
  int finished_count_ = 0;
};

/// What ctest remembers of earlier runs: seconds by test, from the text of its CTestCostData.txt.
std::map<std::string, double> parse_costs(const std::string& text);

}  // namespace course::program
