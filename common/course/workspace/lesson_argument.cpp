#include "course/workspace/lesson_argument.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "protocol/errors.hpp"

namespace course::program {

namespace {

bool all_digits(const std::string& text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

std::string without_leading_zeros(const std::string& digits) {
  return digits.substr(std::min(digits.find_first_not_of('0'), digits.size() - 1));
}

bool is_named(const LessonInfo& lesson, const std::string& name) {
  if (all_digits(name)) return without_leading_zeros(name) == without_leading_zeros(lesson.id);
  return name == lesson.name || name == lesson.folder();
}

const LessonInfo* find_named(const std::vector<LessonInfo>& lessons, const std::string& name) {
  const auto found = std::find_if(lessons.begin(), lessons.end(),
                                  [&](const LessonInfo& lesson) { return is_named(lesson, name); });
  return found == lessons.end() ? nullptr : &*found;
}

/// The lesson in whose folder a path lies.
const LessonInfo* find_by_path(const std::vector<LessonInfo>& lessons, const std::string& path) {
  if (path.find('/') == std::string::npos) return nullptr;
  for (const LessonInfo& lesson : lessons) {
    for (const std::filesystem::path& part : std::filesystem::path(path)) {
      if (part == lesson.folder()) return &lesson;
    }
  }
  return nullptr;
}

[[noreturn]] void unknown_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument) {
  std::string known;
  for (const LessonInfo& lesson : lessons)
    known += (known.empty() ? "" : ", ") + lesson.id + " " + lesson.name;
  throw UsageError("there is no lesson '" + argument + "'; there are: " + known);
}

}  // namespace

void require_task(const LessonInfo& lesson, const std::string& task) {
  std::string known;
  for (const TaskInfo& info : lesson.tasks) {
    if (info.id == task) return;
    known += (known.empty() ? "" : ", ") + info.id + " (" + info.name + ")";
  }
  throw UsageError("lesson " + lesson.id + " has no task '" + task + "'; it has: " + known);
}

LessonChoice choose_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument) {
  if (const LessonInfo* lesson = find_by_path(lessons, argument)) return {lesson, ""};
  const std::size_t dot = argument.find('.');
  const LessonInfo* lesson = find_named(lessons, argument.substr(0, dot));
  if (lesson == nullptr) unknown_lesson(lessons, argument);
  if (dot == std::string::npos) return {lesson, ""};
  const std::string task = argument.substr(dot + 1);
  require_task(*lesson, task);
  return {lesson, task};
}

LessonChoice choose_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument,
                           const std::string& task) {
  LessonChoice choice = choose_lesson(lessons, argument);
  if (task.empty()) return choice;
  if (!choice.task.empty() && choice.task != task)
    throw UsageError("task " + choice.task + " in '" + argument + "' contradicts --task " + task);
  require_task(*choice.lesson, task);
  choice.task = task;
  return choice;
}

const LessonInfo& choose_whole_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument,
                                      std::string_view command) {
  const LessonChoice choice = choose_lesson(lessons, argument);
  if (!choice.task.empty()) {
    throw UsageError(std::string(command) + " takes a whole lesson, such as " + choice.lesson->id +
                     ", not '" + argument + "'");
  }
  return *choice.lesson;
}

std::vector<LessonInfo> choose_lessons(const std::vector<LessonInfo>& lessons, const std::string& argument,
                                       std::string_view command) {
  std::vector<bool> chosen(lessons.size(), false);
  const auto index_of = [&](const std::string& name) {
    return static_cast<std::size_t>(&choose_whole_lesson(lessons, name, command) - lessons.data());
  };
  std::istringstream parts(argument + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t dash = part.find('-');
    const std::size_t first = index_of(part.substr(0, dash));
    const std::size_t last = dash == std::string::npos ? first : index_of(part.substr(dash + 1));
    if (last < first)
      throw UsageError("'" + part + "' runs backwards; a range of lessons goes up, such as 03-05");
    std::fill(chosen.begin() + static_cast<std::ptrdiff_t>(first),
              chosen.begin() + static_cast<std::ptrdiff_t>(last) + 1, true);
  }
  std::vector<LessonInfo> result;
  for (std::size_t i = 0; i < lessons.size(); ++i) {
    if (chosen[i]) result.push_back(lessons[i]);
  }
  return result;
}

}  // namespace course::program
