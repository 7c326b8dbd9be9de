#include "course/selftest/test_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>

#include "course/build/build.hpp"
#include "course/handout/git.hpp"
#include "course/terminal/words.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

using Outcome = TestRow::Outcome;

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

/// What git says, or nullopt outside a repository.
std::optional<std::string> said_by_git(const Checkout& checkout, const std::vector<std::string>& arguments) {
  if (find_program("git").empty()) return std::nullopt;
  const Captured said = ask_git(checkout.root, arguments);
  return said.exit.code == 0 ? std::optional(said.output) : std::nullopt;
}

void format(TestRow& row, const Checkout& checkout) {
  constexpr const char* formatter_version = "14";  // another major version differs in small things
  if (find_program("clang-format").empty()) return skip(row, "there is no clang-format on this machine");
  const std::string version = capture({.argv = {"clang-format", "--version"}}).first_line();
  if (version.find(fmt::format("version {}.", formatter_version)) == std::string::npos) {
    return skip(row, fmt::format("the tree is formatted by clang-format {}, and here is: {}",
                                 formatter_version, version));
  }
  const std::optional<std::string> listed = said_by_git(checkout, {"ls-files", "*.cpp", "*.hpp"});
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
