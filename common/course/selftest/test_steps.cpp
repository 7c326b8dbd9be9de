#include "course/selftest/test_steps.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>

#include "course/build/build.hpp"
#include "course/handout/git.hpp"
#include "course/selftest/lesson_audit.hpp"
#include "runner/subprocess.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

using Outcome = TestRow::Outcome;

/// The formatter whose output the tree has; another major version differs in small things.
constexpr const char* formatter_version = "14";

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
std::optional<std::string> ask_git(const Checkout& checkout, const std::vector<std::string>& arguments) {
  if (find_program("git").empty()) return std::nullopt;
  const Captured said = program::ask_git(checkout.root, arguments);
  if (said.exit.code != 0) return std::nullopt;
  return said.output;
}

std::vector<std::string> student_files(const Checkout& checkout) {
  std::vector<std::string> files;
  for (const LessonInfo& lesson : checkout.lessons) {
    for (const std::string& file : lesson.files)
      files.push_back(Checkout::student_file(lesson, file).string());
  }
  return files;
}

/// Tracked C++ files that exist and no student edits.
std::vector<std::string> files_to_format(const Checkout& checkout, const std::string& listed) {
  const std::vector<std::string> edited = student_files(checkout);
  std::vector<std::string> files;
  for (const std::string& file : lines_of(listed)) {
    const bool is_edited = std::find(edited.begin(), edited.end(), file) != edited.end();
    if (!is_edited && fs::exists(checkout.root / file)) files.push_back(file);
  }
  return files;
}

/// "14" in "Debian clang-format version 14.0.6".
std::string major_version(const std::string& said) {
  const std::string mark = "version ";
  const std::size_t at = said.find(mark);
  return at == std::string::npos ? "" : said.substr(at + mark.size(), said.find('.', at) - at - mark.size());
}

void format(TestRow& row, const Checkout& checkout) {
  if (find_program("clang-format").empty()) return skip(row, "there is no clang-format on this machine");
  const Captured version = capture({.argv = {"clang-format", "--version"}});
  if (major_version(version.output) != formatter_version) {
    return skip(row, fmt::format("the tree is formatted by clang-format {}, and here is: {}",
                                 formatter_version, version.first_line()));
  }
  const std::optional<std::string> listed = ask_git(checkout, {"ls-files", "*.cpp", "*.hpp"});
  if (!listed)
    return skip(row, "git does not list the tracked files: this is no git checkout, or there is no git");
  std::vector<std::string> command{"clang-format", "--dry-run", "-Werror"};
  const std::vector<std::string> files = files_to_format(checkout, *listed);
  command.insert(command.end(), files.begin(), files.end());
  const Captured said = capture({.argv = command, .folder = checkout.root});
  if (said.exit.code != 0) fail(row, "clang-format -i puts these right", said.output);
}

/// Why the skeleton of a file has drifted, or an empty string.
std::string drift(const Checkout& checkout, const LessonInfo& lesson, const std::string& file) {
  const std::optional<std::string> skeleton = checkout.skeleton(lesson, file);
  if (!skeleton) return "";
  const std::string path = Checkout::student_file(lesson, file).string();
  if (fs::exists(checkout.root / path) && read_text(checkout.root / path) == *skeleton) return "";
  const std::optional<std::string> committed = ask_git(checkout, {"show", "HEAD:" + path});
  if (committed && *committed == *skeleton) return "";  // a student's edit
  return path + " is not what the marks of " + Checkout::solution_file(lesson, file).string() + " give\n";
}

void compare_skeletons(TestRow& row, const Checkout& checkout) {
  std::string drifted;
  for (const LessonInfo& lesson : checkout.lessons) {
    for (const std::string& file : checkout.files_with_skeleton(lesson))
      drifted += drift(checkout, lesson, file);
  }
  if (drifted.empty()) return;
  fail(row, "a skeleton has drifted",
       drifted +
           "./course reset NN cuts it anew. If you committed your own answer there, this is no fault of "
           "yours: leave "
           "out --all.\n");
}

void compile_with_clang(TestRow& row, const Checkout& checkout, int jobs) {
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
}

void audit_all(TestRow& row, const Checkout& checkout, const std::vector<LessonInfo>& lessons) {
  std::vector<std::string> findings = audit_registry(checkout.lessons);
  for (const LessonInfo& lesson : lessons) {
    const std::vector<std::string> more = audit(checkout, lesson);
    findings.insert(findings.end(), more.begin(), more.end());
  }
  std::string text;
  for (const std::string& finding : findings) text += finding + "\n";
  if (!findings.empty()) fail(row, "a lesson is not whole (docs/adding-a-lesson.md)", text);
}

}  // namespace

TestRow check_lessons(const Checkout& checkout, const std::vector<LessonInfo>& lessons) {
  return timed("lessons.whole", [&](TestRow& row) { audit_all(row, checkout, lessons); });
}

TestRow check_formatting(const Checkout& checkout) {
  return timed("all.formatting", [&](TestRow& row) { format(row, checkout); });
}

TestRow check_skeletons(const Checkout& checkout) {
  return timed("all.skeletons", [&](TestRow& row) { compare_skeletons(row, checkout); });
}

TestRow check_second_compiler(const Checkout& checkout, int jobs) {
  return timed("all.second_compiler", [&](TestRow& row) { compile_with_clang(row, checkout, jobs); });
}

}  // namespace course::program
