#include "course/commands/report_json.hpp"

#include <nlohmann/json.hpp>

namespace course::program {

using Json = nlohmann::ordered_json;

namespace {

Json task_json(const TaskStatus& lesson_status) {
  return {
      {"id", lesson_status.task->id},
      {"name", lesson_status.task->name},
      {"status", to_string(lesson_status.status)},
      {"points", lesson_status.points()},
      {"max_points", lesson_status.task->points},
      {"diagnosis", lesson_status.status == Status::Passed ? Json(nullptr) : Json(lesson_status.diagnosis)}};
}

Json lesson_json(const LessonStatus& lesson_status) {
  const LessonInfo& lesson = *lesson_status.lesson;
  Json files = Json::array();
  for (const std::string& file : lesson.files) files.push_back(Checkout::student_file(lesson, file).string());
  Json tasks = Json::array();
  for (const TaskStatus& task : lesson_status.tasks) tasks.push_back(task_json(task));
  return {{"id", lesson.id},
          {"name", lesson.name},
          {"status", to_string(lesson_status.status)},
          {"points", lesson_status.points()},
          {"max_points", lesson.max_points()},
          {"files", files},
          {"tasks", tasks}};
}

}  // namespace

std::string report_json(const std::vector<LessonStatus>& lesson_statuses) {
  Json lessons = Json::array();
  for (const LessonStatus& lesson_status : lesson_statuses) lessons.push_back(lesson_json(lesson_status));
  return Json{{"lessons", lessons}}.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace course::program
