#include "grader/shown_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/utf8.hpp"

namespace course::grader {

using program::Status;
using program::TaskStatus;

namespace {

/// What described() of a lesson_status takes its text from: the first test that failed, else the first that
/// is still to do.
const TaskTest* telling_test(const std::vector<TaskTest>& tests) {
  for (const Status status : {Status::Failed, Status::Todo}) {
    const auto found =
        std::find_if(tests.begin(), tests.end(), [&](const TaskTest& test) { return test.status == status; });
    if (found != tests.end()) return &*found;
  }
  return nullptr;
}

/// What there is to say of a test on hidden inputs.
std::string without_judges_words(const LessonInfo& lesson, const program::TestResult& result) {
  std::string text = "fails on hidden inputs";
  for (const MistakeInfo& mistake : lesson.mistakes) {
    const bool named =
        std::find(result.mistakes.begin(), result.mistakes.end(), mistake.id) != result.mistakes.end();
    if (named) text += "\nlooks like: " + mistake.what;
  }
  return text;
}

/// "not passed on 2, 3 ranks (played on 1, 2, 3)" and a line break; empty for a task on one rank.
std::string failing_ranks(const std::vector<TaskTest>& tests) {
  std::vector<int> all, failing;
  for (const TaskTest& test : tests) {
    if (test.ranks == 0) return "";
    if (std::find(all.begin(), all.end(), test.ranks) == all.end()) all.push_back(test.ranks);
    const bool known = std::find(failing.begin(), failing.end(), test.ranks) != failing.end();
    if (test.status != Status::Passed && !known) failing.push_back(test.ranks);
  }
  if (failing.empty()) return "";
  std::sort(failing.begin(), failing.end());
  std::sort(all.begin(), all.end());
  return fmt::format("not passed on {} ranks (played on {})\n", fmt::join(failing, ", "),
                     fmt::join(all, ", "));
}

}  // namespace

std::string presentable(const std::string& text) {
  const std::string clean = clean_utf8(text);
  std::size_t end = longest_text;
  while (end < clean.size() && (clean[end] & 0xC0) == 0x80) ++end;  // in the midst of a character
  if (end >= clean.size()) return clean;
  return clean.substr(0, end) + fmt::format("\n[cut here: the whole text has {} bytes]", text.size());
}

std::vector<TaskTest> tests_of(const LessonGrade& grade, const TaskInfo& task) {
  std::vector<TaskTest> tests;
  for (const bool hidden : {false, true}) {
    for (const int ranks : task.test_ranks()) {
      const std::string name = test_name(task.id, ranks, hidden);
      const auto played = grade.tests.find(name);
      if (played == grade.tests.end()) continue;
      tests.push_back({name, ranks, hidden, played->second.status});
    }
  }
  return tests;
}

std::string title_of(const LessonInfo& lesson, const TaskInfo& task) {
  return presentable(fmt::format("{}.{} {}", lesson.id, task.id, task.name));
}

std::string diagnosis_of(const LessonGrade& grade, const TaskStatus& task) {
  if (task.status == Status::Passed) return "";
  const std::vector<TaskTest> tests = tests_of(grade, *task.task);
  const TaskTest* telling = telling_test(tests);
  const bool of_hidden = telling != nullptr && telling->hidden;
  const std::string why =
      of_hidden ? without_judges_words(*grade.lesson_status.lesson, grade.tests.at(telling->name))
                : task.diagnosis;
  return presentable(failing_ranks(tests) + why);
}

}  // namespace course::grader
