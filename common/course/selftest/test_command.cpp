#include <fmt/core.h>
#include <sched.h>

#include <algorithm>

#include "course/build/build.hpp"
#include "course/commands/commands.hpp"
#include "course/selftest/test_steps.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t slowest_shown = 5;
constexpr int few_seeds = 4;  ///< of --all

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

/// One call of ./course test.
class Tests {
 public:
  Tests(const Checkout& checkout, const TestOptions& options)
      : checkout_(checkout),
        all_(options.all),
        soak_(options.soak),
        jobs_(options.jobs > 0 ? options.jobs : processors()) {
    if (!options.lesson.empty())
      lesson_ = &choose_whole_lesson(checkout.lessons, options.lesson, "test --lesson");
    if (lesson_ != nullptr && all_)
      throw UsageError("--lesson is about one lesson and --all about everything: choose one");
  }

  int run() {
    // A handout has neither solutions nor mutants to look over, and keeps the skeletons that it came with.
    if (!checkout_.is_handout()) {
      add(check_lessons(checkout_, lesson_ == nullptr ? checkout_.lessons : std::vector{*lesson_}));
      // Whoever is at work on one lesson hears at once what is amiss.
      if (lesson_ != nullptr && rows_.back().outcome == TestRow::Outcome::Failed) return conclude();
    }
    run_tree(tree_for_tests(), "build", target(), filter(), "");
    if (all_) run_the_rest();
    return conclude();
  }

 private:
  /// With --all warnings are errors, which is nothing to bother a student's own builds with.
  fs::path tree_for_tests() const {
    if (!all_ && soak_ == 0) return checkout_.build();
    const fs::path tree = checkout_.build() / "strict";
    const int seeds = soak_ > 0 ? soak_ : few_seeds;
    configure(checkout_.root, tree,
              {"--preset", "student", "-DCOURSE_WERROR=ON", "-DCOURSE_SEEDS=" + std::to_string(seeds)});
    return tree;
  }

  std::string target() const { return lesson_ == nullptr ? "course_tests" : lesson_->tag() + "_tests"; }

  std::vector<std::string> filter() const {
    // The tests with several seeds begin with the one seed of those that they are named after.
    if (all_)
      return {"-L", "^(solution|course|seeds|slow)$", "-LE", "^(student|mutant|variant|combination)$"};
    std::vector<std::string> filter{"-L", "^(solution|course)$", "-LE", "^student$"};
    if (soak_ > 0) filter = {"-L", "^seeds$", "-LE", "^handout$"};
    if (lesson_ != nullptr) filter.insert(filter.end(), {"-L", "^" + lesson_->tag() + "$"});
    return filter;
  }

  /// Builds a target, which is the row `name` where that fails, and runs tests of the tree.
  void run_tree(const fs::path& tree, const std::string& name, const std::string& what,
                const std::vector<std::string>& tests, const std::string& prefix) {
    const BuildResult built =
        build({checkout_.root, tree, {what}, what == "course_tests" ? "the tests" : what, jobs_});
    if (!built.succeeded)
      return add({TestRow::Outcome::Failed, name, "does not compile", failure_text(built), 0});
    const std::vector<TestRow> rows = run_tests({tree, tests, prefix, jobs_});
    if (rows.empty()) add({TestRow::Outcome::Failed, prefix + "tests", "there are none", "", 0});
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }

  void run_the_rest() {
    const fs::path sanitized = checkout_.build() / "sanitize";
    configure(checkout_.root, sanitized, {"--preset", "sanitize"});
    run_tree(sanitized, "sanitize.build", "course_tests",
             {"-L", "^(solution|course)$", "-LE", "^(student|mpi)$"}, "sanitize.");
    add(check_second_compiler(checkout_, jobs_));
    add(check_formatting(checkout_));
    if (!checkout_.is_handout()) add(check_skeletons(checkout_));
  }

  void add(const TestRow& row) {
    if (row.outcome != TestRow::Outcome::Passed) print_row(row);
    rows_.push_back(row);
  }

  int conclude() const {
    const auto failures = std::ranges::count(rows_, TestRow::Outcome::Failed, &TestRow::outcome);
    fmt::print("\n{}\nthe slowest:\n{}\n", test_table(checkout_.lessons, rows_),
               slowest_tests(rows_, slowest_shown));
    for (const TestRow& row : rows_) {
      if (row.outcome == TestRow::Outcome::Failed) fmt::print("failed: {}\n", row.name);
    }
    fmt::print("took {}\n{}\n", duration(clock_.seconds()), summary(rows_));
    return failures == 0 ? succeeded : failed;
  }

  const Checkout& checkout_;
  const LessonInfo* lesson_ = nullptr;
  bool all_;
  int soak_;
  int jobs_;
  std::vector<TestRow> rows_;
  ProgressLine clock_;
};

}  // namespace

int test(const Checkout& checkout, const TestOptions& options) {
  return Tests(checkout, options).run();
}

}  // namespace course::program
