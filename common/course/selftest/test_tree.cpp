#include "course/selftest/test_tree.hpp"

#include <fmt/core.h>

#include <set>

#include "course/selftest/ctest_output.hpp"
#include "course/terminal/terminal.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

std::map<std::string, double> known_costs(const fs::path& tree) {
  const fs::path file = tree / "Testing" / "Temporary" / "CTestCostData.txt";
  return fs::exists(file) ? parse_costs(read_text(file)) : std::map<std::string, double>{};
}

/// One run of ctest.
class TestRun {
 public:
  TestRun(const TestOrder& order, const std::vector<std::string>& tests)
      : order_(order),
        missing_(tests.begin(), tests.end()),
        total_(tests.size()),
        estimate_(tests, known_costs(order.tree)) {}

  std::vector<TestRow> run() {
    std::vector<std::string> command{"ctest", "--test-dir", order_.tree,
                                     "-V",    "-j",         std::to_string(order_.jobs)};
    const std::vector<std::string> arguments = order_.filter.ctest_arguments();
    command.insert(command.end(), arguments.begin(), arguments.end());
    show_progress("");
    course::run({.argv = command}, [this](const std::string& line) { take(line); });
    for (const std::string& test : missing_)
      keep({TestRow::Outcome::Failed, test, "ctest ended before it", "", 0});
    return std::move(rows_);
  }

 private:
  void take(const std::string& line) {
    const std::optional<TestRow> row = output_.add(line);
    if (!row) return;
    missing_.erase(row->name);
    estimate_.finished(row->name, row->seconds);
    keep(*row);
    show_progress(row->name);
  }

  void keep(TestRow row) {
    row.name = order_.prefix + row.name;
    if (row.outcome != TestRow::Outcome::Passed) {
      progress_.clear();
      print_row(row);
    }
    rows_.push_back(std::move(row));
  }

  void show_progress(const std::string& last) {
    const TestCounts counts = count(rows_);
    const double elapsed = progress_.seconds();
    const double left = estimate_.left(elapsed);
    std::string text =
        fmt::format("tests: {} of {}, {} failed, {}", rows_.size(), total_, counts.failed, duration(elapsed));
    if (left >= 0) text += ", about " + duration(left) + " left";
    progress_.show(text + (last.empty() ? "" : "; " + order_.prefix + last));
  }

  const TestOrder& order_;
  std::set<std::string> missing_;
  std::size_t total_;
  Estimate estimate_;
  CtestOutput output_;
  std::vector<TestRow> rows_;
  ProgressLine progress_;
};

}  // namespace

std::vector<TestRow> run_tests(const TestOrder& order) {
  const std::vector<std::string> tests = list_tests(order.tree, order.filter);
  return TestRun(order, tests).run();
}

void print_row(const TestRow& row) {
  if (row.outcome == TestRow::Outcome::Skipped) {
    fmt::print("{}  {}: {}\n", painted("SKIP", Colour::Yellow), row.name, row.reason);
  } else {
    fmt::print("{}  {}   {}, {:.1f} s\n{}", painted("FAIL", Colour::Red), row.name, row.reason, row.seconds,
               row.output);
  }
  std::fflush(stdout);
}

}  // namespace course::program
