#include "judge/verdict_text.hpp"

#include <fmt/format.h>

namespace course {

namespace {

std::string indented(const std::string& text) {
  std::string result;
  for (const char c : text) result += c == '\n' ? std::string("\n      ") : std::string(1, c);
  return result;
}

}  // namespace

std::string verdict_text(const LessonInfo& lesson, const GradedTest& test, const TestVerdict& verdict) {
  const std::string title = lesson.tag() + "." + test.name();
  switch (verdict.status) {
    case TestVerdict::Status::Passed:
      return fmt::format("PASS  {}\n", title);
    case TestVerdict::Status::Todo:
      return fmt::format("TODO  {}   {}\n", title, verdict.text);
    case TestVerdict::Status::NotPlayed:
      return fmt::format("FAIL  {}   not played: an earlier case of this task ended the player\n", title);
    case TestVerdict::Status::Failed:
      break;
  }
  std::string text = fmt::format("FAIL  {}   {}\n", title, indented(verdict.text));
  for (const std::string& id : verdict.mistakes) {
    text += fmt::format("      looks like: {}.   ./course hint {}\n", lesson.mistake(id).what, lesson.id);
  }
  return text;
}

}  // namespace course
