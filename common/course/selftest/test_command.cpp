#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>

#include "course/build/build.hpp"
#include "course/commands/commands.hpp"
#include "course/commands/machine_facts.hpp"
#include "course/handout/git.hpp"
#include "course/selftest/corpus_table.hpp"
#include "course/selftest/ledger_changes.hpp"
#include "course/selftest/test_steps.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

using Outcome = TestRow::Outcome;

constexpr std::size_t slowest_shown = 5;
constexpr int few_seeds = 3;  ///< of right answers with --all, which plays wrong ones with one
constexpr const char* ledger = "tests/ledger";

/// What git says, or nullopt outside a repository.
std::optional<std::string> said_by_git(const Checkout& checkout, const std::vector<std::string>& arguments) {
  if (find_program("git").empty()) return std::nullopt;
  const Captured said = ask_git(checkout.root, arguments);
  return said.exit.code == 0 ? std::optional(said.output) : std::nullopt;
}

/// One call of ./course test.
class Tests {
 public:
  Tests(const Checkout& checkout, const TestOptions& options)
      : checkout_(checkout), options_(options), jobs_(options.jobs > 0 ? options.jobs : usable_cores()) {
    if (!options.lesson.empty())
      lesson_ = &choose_whole_lesson(checkout.lessons, options.lesson, "test --lesson");
    if (lesson_ != nullptr && options_.all)
      throw UsageError("--lesson is about one lesson and --all about everything: choose one");
    if (options_.record) require_recordable();
  }

  int run() {
    // A handout has neither solutions nor mutants to look over, and keeps the skeletons that it came with.
    if (!checkout_.is_handout()) {
      add(check_lessons(checkout_, lesson_ == nullptr ? checkout_.lessons : std::vector{*lesson_}));
      // Whoever is at work on one lesson hears at once what is amiss.
      if (lesson_ != nullptr && rows_.back().outcome == Outcome::Failed) return conclude();
    }
    if (options_.all) check_sources();
    if (options_.record) setenv("COURSE_RECORD_LEDGER", lesson_->tag().c_str(), 1);
    if (options_.record && records_outcomes()) {
      run_tree(tree_for_tests(), "build", targets(), {"-L", "^record$", "-L", "^" + lesson_->tag() + "$"},
               "");
      if (std::ranges::count(rows_, Outcome::Failed, &TestRow::outcome) > 0) return conclude();
    }
    const bool built = run_tree(tree_for_tests(), "build", targets(), filter(), "");
    if (options_.all) run_the_rest();
    if (options_.record && built) record_the_rest();
    return conclude();
  }

 private:
  void require_recordable() const {
    if (lesson_ == nullptr)
      throw UsageError("--record writes down what comes of one lesson: say which with --lesson NN");
    if (options_.soak > 0)
      throw UsageError("--record writes down what comes of the first seed: leave out --soak");
    if (!fs::exists(checkout_.root / ledger))
      throw UsageError(fmt::format("--record writes into {}, which {} does not have", ledger,
                                   checkout_.is_handout() ? "a handout" : "this checkout"));
  }

  /// What takes seconds stands before what takes most of an hour, so that its author hears of it at once.
  void check_sources() {
    add(check_formatting(checkout_));
    if (!checkout_.is_handout()) add(check_skeletons(checkout_));
  }

  /// With --all warnings are errors, which is nothing to bother a student's own builds with.
  fs::path tree_for_tests() const {
    if (!options_.all && !options_.record && options_.soak == 0) return checkout_.build();
    const fs::path tree = checkout_.build() / "strict";
    const int seeds = options_.soak > 0 ? options_.soak : options_.record ? 1 : few_seeds;
    configure(checkout_.root, tree,
              {"--preset", "student", "-DCOURSE_WERROR=ON", "-DCOURSE_FORMS=ON",
               "-DCOURSE_SEEDS=" + std::to_string(seeds),
               "-DCOURSE_SEEDS_OF_MISTAKES=" + std::to_string(options_.soak > 0 ? seeds : 1)});
    return tree;
  }

  std::vector<std::string> targets() const {
    if (lesson_ == nullptr) return {"course_tests"};
    std::vector<std::string> all{lesson_->tag() + "_tests"};
    if (options_.record) all.insert(all.end(), {"ledger_test", "course-program", "course-tools"});
    return all;
  }

  /// Whether the lesson's mistakes are named by what is recorded of them (common/judge/outcomes).
  bool records_outcomes() const {
    return fs::exists(checkout_.root / "tests" / lesson_->folder() / "outcomes.tsv") &&
           std::ranges::count(lesson_->mistakes, "answer", &MistakeInfo::by) > 0;
  }

  std::vector<std::string> filter() const {
    // The tests with several seeds begin with the one seed of those that they are named after.
    if (options_.all)
      return {"-L", "^(solution|course|seeds|slow|docs)$", "-LE",
              "^(student|mutant|unnamed|variant|combination)$"};
    std::vector<std::string> filter{"-L", "^(solution|course)$", "-LE", "^student$"};
    if (options_.record) filter = {"-LE", "^(student|record)$"};
    if (options_.soak > 0) filter = {"-L", "^seeds$", "-LE", "^handout$"};
    if (lesson_ != nullptr) filter.insert(filter.end(), {"-L", "^" + lesson_->tag() + "$"});
    return filter;
  }

  /// Builds targets, which are the row `name` where that fails, and runs tests of the tree.
  /// Returns whether it built.
  bool run_tree(const fs::path& tree, const std::string& name, const std::vector<std::string>& what,
                const std::vector<std::string>& tests, const std::string& prefix) {
    const std::string title = what.front() == "course_tests" ? "the tests" : what.front();
    const double start = clock_.seconds();
    const BuildResult built = build({checkout_.root, tree, what, title, jobs_});
    const double compiled = clock_.seconds();
    if (built.succeeded)
      run_and_add(tree, tests, prefix);
    else
      add({Outcome::Failed, name, "does not compile", failure_text(built), 0});
    times_ += fmt::format("{}: {} to compile, {} to run\n", tree.filename().string(),
                          duration(compiled - start), duration(clock_.seconds() - compiled));
    return built.succeeded;
  }

  void run_and_add(const fs::path& tree, const std::vector<std::string>& tests, const std::string& prefix) {
    const std::vector<TestRow> rows = run_tests({tree, tests, prefix, jobs_});
    if (rows.empty()) add({Outcome::Failed, prefix + "tests", "there are none", "", 0});
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }

  void run_the_rest() {
    const fs::path sanitized = checkout_.build() / "sanitize";
    configure(checkout_.root, sanitized, {"--preset", "sanitize"});
    run_tree(sanitized, "sanitize.build", {"course_tests"},
             {"-L", "^(solution|course)$", "-LE", "^(student|mpi)$"}, "sanitize.");
    add(check_second_compiler(checkout_, jobs_));
  }

  /// The names of tests and the files of a handout, and what all that was recorded has changed.
  void record_the_rest() {
    run_and_add(tree_for_tests(), {"-R", "^ledger\\.(parts|handout)$"}, "");
    fmt::print("\n");
    print_ledger_changes();
    fmt::print("What did not come out as expected is not recorded.\n");
  }

  void print_ledger_changes() const {
    if (!said_by_git(checkout_, {"rev-parse", "--verify", "HEAD"}))
      return fmt::print("{} is recorded; without a git commit there is nothing to compare it with.\n",
                        ledger);
    for (const std::string& file : {"verdicts/" + lesson_->tag() + ".tsv", std::string("tests.tsv"),
                                    std::string("handout_files.txt")}) {
      const std::string path = std::string(ledger) + "/" + file;
      const std::string now = fs::exists(checkout_.root / path) ? read_text(checkout_.root / path) : "";
      fmt::print("{}",
                 ledger_changes(path, said_by_git(checkout_, {"show", "HEAD:" + path}).value_or(""), now));
    }
  }

  void add(const TestRow& row) {
    if (row.outcome != Outcome::Passed) print_row(row);
    rows_.push_back(row);
  }

  int conclude() const {
    const auto failures = std::ranges::count(rows_, Outcome::Failed, &TestRow::outcome);
    const std::string corpus =
        corpus_table(checkout_.lessons, rows_, corpus_ratings(checkout_.root, checkout_.lessons));
    fmt::print("\n{}{}{}\nthe slowest:\n{}\n", test_table(checkout_.lessons, rows_),
               corpus.empty() ? "" : "\n", corpus, slowest_tests(rows_, slowest_shown));
    for (const TestRow& row : rows_) {
      if (row.outcome == Outcome::Failed) fmt::print("failed: {}\n", row.name);
    }
    fmt::print("{}took {}\n{}\n", times_, duration(clock_.seconds()), summary(rows_));
    return failures == 0 ? succeeded : failed;
  }

  const Checkout& checkout_;
  const TestOptions& options_;
  const LessonInfo* lesson_ = nullptr;
  int jobs_;
  std::vector<TestRow> rows_;
  std::string times_;  ///< of each tree
  ProgressLine clock_;
};

bool may_skip() {
  return std::ranges::none_of(std::vector<const char*>{"COURSE_NO_SKIP", "CI"}, [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  });
}

TestRow timed(const std::string& name, const std::function<void(TestRow&)>& step) {
  TestRow row{Outcome::Passed, name, "", "", 0};
  const auto start = std::chrono::steady_clock::now();
  step(row);
  row.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return row;
}

void skip(TestRow& row, const std::string& why) {
  row.outcome = may_skip() ? Outcome::Skipped : Outcome::Failed;
  row.reason = may_skip() ? why : "not done, and nothing may be skipped here: " + why;
}

void fail(TestRow& row, const std::string& why, const std::string& output) {
  row.outcome = Outcome::Failed;
  row.reason = why;
  row.output = output;
}

void format(TestRow& row, const Checkout& checkout) {
  constexpr const char* formatter_version = "14";  // another major version differs in small things
  if (find_program("clang-format").empty()) return skip(row, "there is no clang-format on this machine");
  const std::string version = capture({.argv = {"clang-format", "--version"}}).first_line();
  if (version.find(fmt::format("version {}.", formatter_version)) == std::string::npos) {
    return skip(row, fmt::format("the tree is formatted by clang-format {}, and here is: {}",
                                 formatter_version, version));
  }
  const std::optional<std::string> listed = said_by_git(checkout, {"ls-files", "*.cpp", "*.hpp", "*.cu"});
  if (!listed)
    return skip(row, "git does not list the tracked files: this is no git checkout, or there is no git");
  std::vector<std::string> command{"clang-format", "--dry-run", "-Werror"};
  const std::set<std::string> edited = checkout.student_files();
  std::ranges::copy_if(lines_of(*listed), std::back_inserter(command), [&](const std::string& file) {
    return !edited.contains(file) && fs::exists(checkout.root / file);
  });
  const Captured said = capture({.argv = command, .folder = checkout.root});
  if (said.exit.code != 0) fail(row, "clang-format -i puts these right", said.output);
}

/// Why the skeleton of a file has drifted, or an empty string.
std::string drift(const Checkout& checkout, const LessonInfo& lesson, const std::string& file) {
  const std::optional<std::string> skeleton = checkout.skeleton(lesson, file);
  if (!skeleton) return "";
  const std::string path = Checkout::student_file(lesson, file).string();
  if (fs::exists(checkout.root / path) && read_text(checkout.root / path) == *skeleton) return "";
  if (said_by_git(checkout, {"show", "HEAD:" + path}) == skeleton) return "";  // a student's edit
  return path + " is not what the marks of " + Checkout::solution_file(lesson, file).string() + " give\n";
}

}  // namespace

int test(const Checkout& checkout, const TestOptions& options) {
  return Tests(checkout, options).run();
}

TestRow check_lessons(const Checkout& checkout, const std::vector<LessonInfo>& lessons) {
  return timed("lessons.whole", [&](TestRow& row) {
    std::vector<std::string> findings = audit_registry(checkout.lessons);
    for (const LessonInfo& lesson : lessons)
      std::ranges::copy(audit(checkout, lesson), std::back_inserter(findings));
    if (!findings.empty())
      fail(row, "a lesson is not whole (docs/adding-a-lesson.md)", joined(findings, {}, "\n") + "\n");
  });
}

TestRow check_formatting(const Checkout& checkout) {
  return timed("all.formatting", [&](TestRow& row) { format(row, checkout); });
}

TestRow check_skeletons(const Checkout& checkout) {
  return timed("all.skeletons", [&](TestRow& row) {
    std::string drifted;
    for (const LessonInfo& lesson : checkout.lessons) {
      for (const std::string& file : checkout.files_with_skeleton(lesson))
        drifted += drift(checkout, lesson, file);
    }
    if (drifted.empty()) return;
    fail(row, "a skeleton has drifted",
         drifted +
             "./course reset NN cuts it anew. If you committed your own answer there, this is no fault of "
             "yours: leave out --all.\n");
  });
}

TestRow check_second_compiler(const Checkout& checkout, int jobs) {
  return timed("all.second_compiler", [&](TestRow& row) {
    if (find_program("clang++").empty()) return skip(row, "there is no clang++ on this machine");
    const fs::path tree = checkout.build() / "clang";
    // Warnings need no optimisation, and without it everything compiles in half the time.
    configure(checkout.root, tree,
              {"--preset", "student", "-DCMAKE_CXX_COMPILER=clang++", "-DCMAKE_BUILD_TYPE=None",
               "-DCOURSE_WERROR=ON", "-DCOURSE_MISTAKES=OFF"});
    const BuildResult built =
        build({checkout.root, tree, {"course_tests", "course-tools"}, "everything with clang++", jobs});
    if (!built.succeeded)
      fail(row, "clang++ does not compile everything without a warning", failure_text(built));
  });
}

}  // namespace course::program
