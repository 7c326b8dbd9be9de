#include "course/workspace/lesson_argument.hpp"

#include <algorithm>
#include <set>
#include <sstream>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "text/nearest.hpp"

namespace course::program {

namespace {

std::string without_leading_zeros(const std::string& text) {
  return text.substr(std::min(text.find_first_not_of('0'), text.size()));
}

bool is_named(const LessonInfo& lesson, const std::string& name) {
  return without_leading_zeros(name) == without_leading_zeros(lesson.id) || name == lesson.name ||
         name == lesson.folder();
}

/// Whether a path goes through the lesson's folder.
bool leads_to(const LessonInfo& lesson, const std::string& path) {
  const std::filesystem::path parts = path;
  return path.find('/') != std::string::npos &&
         std::find(parts.begin(), parts.end(), lesson.folder()) != parts.end();
}

void require_task(const LessonInfo& lesson, const std::string& task) {
  if (std::ranges::find(lesson.tasks, task, &TaskInfo::id) != lesson.tasks.end()) return;
  throw UsageError("lesson " + lesson.id + " has no task '" + task +
                   "'; it has: " + joined(lesson.tasks, [](const TaskInfo& info) {
                     return info.id + " (" + info.name + ")";
                   }));
}

LessonChoice choose_named(const std::vector<LessonInfo>& lessons, const std::string& argument) {
  for (const LessonInfo& lesson : lessons) {
    if (leads_to(lesson, argument)) return {&lesson, ""};
  }
  const std::size_t dot = argument.find('.');
  const LessonInfo* const found = lesson_named(lessons, argument.substr(0, dot));
  if (found == nullptr) {
    std::vector<std::string> names;
    for (const LessonInfo& lesson : lessons) names.push_back(lesson.name);
    throw UsageError(unknown("lesson", argument, names) +
                     joined(lessons, [](const LessonInfo& lesson) { return lesson.id + " " + lesson.name; }));
  }
  if (dot == std::string::npos) return {found, ""};
  require_task(*found, argument.substr(dot + 1));
  return {found, argument.substr(dot + 1)};
}

[[noreturn]] void complain_of_ranks(const LessonInfo& lesson, const std::string& task, int ranks) {
  const std::string asked = std::to_string(ranks);
  std::set<int> known;
  for (const TaskInfo& info : lesson.tasks) known.insert(info.ranks.begin(), info.ranks.end());
  if (known.empty())
    throw UsageError("lesson " + lesson.id + " is played on one rank; leave out --ranks " + asked);
  throw UsageError("nothing in lesson " + lesson.id + (task.empty() ? "" : "." + task) + " is tested on " +
                   asked + " ranks; the lesson's world sizes are " +
                   joined(known, [](int size) { return std::to_string(size); }));
}

}  // namespace

const LessonInfo* lesson_named(const std::vector<LessonInfo>& lessons, const std::string& name) {
  const auto found =
      std::ranges::find_if(lessons, [&](const LessonInfo& lesson) { return is_named(lesson, name); });
  return found == lessons.end() ? nullptr : &*found;
}

LessonChoice choose_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument,
                           const std::string& task) {
  const LessonChoice choice = choose_named(lessons, argument);
  if (task.empty()) return choice;
  if (!choice.task.empty() && choice.task != task)
    throw UsageError("task " + choice.task + " in '" + argument + "' contradicts --task " + task);
  require_task(*choice.lesson, task);
  return {choice.lesson, task};
}

const LessonInfo& choose_whole_lesson(const std::vector<LessonInfo>& lessons, const std::string& argument,
                                      std::string_view command) {
  const LessonChoice choice = choose_lesson(lessons, argument);
  if (choice.task.empty()) return *choice.lesson;
  throw UsageError(std::string(command) + " takes a whole lesson, such as " + choice.lesson->id + ", not '" +
                   argument + "'");
}

std::vector<LessonInfo> choose_lessons(const std::vector<LessonInfo>& lessons, const std::string& argument,
                                       std::string_view command) {
  std::set<const LessonInfo*> chosen;  // in the order of `lessons`
  std::istringstream parts(argument + ",");
  for (std::string part; std::getline(parts, part, ',');) {
    const bool is_path = part.find('/') != std::string::npos;
    const std::size_t dash = is_path ? std::string::npos : part.find('-');
    const LessonInfo* first = &choose_whole_lesson(lessons, part.substr(0, dash), command);
    const LessonInfo* last =
        dash == std::string::npos ? first : &choose_whole_lesson(lessons, part.substr(dash + 1), command);
    if (last < first)
      throw UsageError("'" + part + "' runs backwards; a range of lessons goes up, such as 03-05");
    for (; first <= last; ++first) chosen.insert(first);
  }
  std::vector<LessonInfo> result;
  for (const LessonInfo* lesson : chosen) result.push_back(*lesson);
  return result;
}

std::vector<std::string> selected_tests(const LessonInfo& lesson, const std::string& task,
                                        std::optional<int> ranks) {
  if (!task.empty()) require_task(lesson, task);
  std::vector<std::string> tests;
  for (const TaskInfo& info : lesson.tasks) {
    if (!task.empty() && info.id != task) continue;
    for (const int world_size : info.test_ranks()) {
      if (!ranks || (*ranks == world_size && world_size > 0)) tests.push_back(test_name(info.id, world_size));
    }
  }
  if (tests.empty()) complain_of_ranks(lesson, task, *ranks);
  return tests;
}

}  // namespace course::program
