#include "course/report_json.hpp"

#include <nlohmann/json.hpp>

namespace course::program {

using Json = nlohmann::ordered_json;

namespace {

Json task_json(const TaskStanding& standing) {
  return {{"id", standing.task->id},
          {"name", standing.task->name},
          {"status", to_string(standing.status)},
          {"points", standing.points()},
          {"max_points", standing.task->points},
          {"diagnosis", standing.status == Status::Passed ? Json(nullptr) : Json(standing.diagnosis)}};
}

Json lesson_json(const LessonStanding& standing) {
  const LessonInfo& lesson = *standing.lesson;
  Json files = Json::array();
  for (const std::string& file : lesson.files) files.push_back(Checkout::student_file(lesson, file).string());
  Json tasks = Json::array();
  for (const TaskStanding& task : standing.tasks) tasks.push_back(task_json(task));
  return {{"id", lesson.id},
          {"name", lesson.name},
          {"status", to_string(standing.status)},
          {"points", standing.points()},
          {"max_points", lesson.max_points()},
          {"files", files},
          {"tasks", tasks}};
}

}  // namespace

std::string report_json(const std::vector<LessonStanding>& standings) {
  Json lessons = Json::array();
  for (const LessonStanding& standing : standings) lessons.push_back(lesson_json(standing));
  return Json{{"lessons", lessons}}.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace course::program
