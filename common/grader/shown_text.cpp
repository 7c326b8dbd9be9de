#include "grader/shown_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runner/utf8.hpp"

namespace course::grader {

using program::Status;
using program::TaskStatus;

namespace {

constexpr const char* replacement = "\xEF\xBF\xBD";  // U+FFFD

bool allowed_in_xml(const std::string& character) {
  if (character.size() == 1) {
    const auto byte = static_cast<unsigned char>(character[0]);
    return byte >= 0x20 ? byte != 0x7F : byte == '\t' || byte == '\n';
  }
  return character != "\xEF\xBF\xBE" && character != "\xEF\xBF\xBF";
}

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
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    if (result.size() >= longest_text) {
      return result + fmt::format("\n[cut here: the whole text has {} bytes]", text.size());
    }
    const std::size_t length = utf8_length(text, at);
    const std::string character = text.substr(at, std::max<std::size_t>(1, length));
    result += length > 0 && allowed_in_xml(character) ? character : replacement;
    at += character.size();
  }
  return result;
}

std::vector<TaskTest> tests_of(const LessonGrade& grade, const TaskInfo& task) {
  std::vector<TaskTest> tests;
  const std::vector<std::string> names = program::test_names(task);
  for (const bool hidden : {false, true}) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string name = names[i] + (hidden ? program::hidden_suffix : "");
      const auto played = grade.tests.find(name);
      if (played == grade.tests.end()) continue;
      tests.push_back({name, task.ranks.empty() ? 0 : task.ranks[i], hidden, played->second.status});
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
