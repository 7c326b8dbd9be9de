#include "course/workspace/lesson_status.hpp"
#include "course/workspace/saved_json.hpp"

namespace course::program {

// nlohmann-json finds these by their names.
static void to_json(nlohmann::json& value, Status status) {
  value = to_string(status);
}

static void from_json(const nlohmann::json& value, Status& status) {
  status = status_named(value.get<std::string>());
}

// What an older version of the course has not written is empty.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(TestResult, status, text, mistakes, ending, in_part,
                                                of_outputs, fact, has_line)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LessonRecord, hash, build_error, tests)

static void to_json(nlohmann::json& value, const Progress& progress) {
  value = {{"lessons", progress.lessons}, {"passed", progress.passed}, {"drilled", progress.drilled},
           {"hints", progress.hints},     {"guided", progress.guided}, {"current", progress.current}};
}

static void from_json(const nlohmann::json& value, Progress& progress) {
  value.at("lessons").get_to(progress.lessons);
  value.at("hints").get_to(progress.hints);
  progress.passed = value.value("passed", progress.passed);
  progress.drilled = value.value("drilled", progress.drilled);
  progress.guided = value.value("guided", progress.guided);
  progress.current = value.value("current", progress.current);
}

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* results_file = "results.json";
constexpr const char* results_in_words = "what was remembered of your checks";

Json task_json(const TaskStatus& task) {
  return {{"id", task.task->id},
          {"name", task.task->name},
          {"status", to_string(task.status)},
          {"points", task.points()},
          {"max_points", task.task->points},
          {"diagnosis", task.status == Status::Passed ? Json(nullptr) : Json(task.diagnosis)}};
}

Json lesson_json(const LessonStatus& status) {
  const LessonInfo& lesson = *status.lesson;
  Json files = Json::array(), tasks = Json::array();
  for (const std::string& file : lesson.files) files.push_back(Checkout::student_file(lesson, file).string());
  for (const TaskStatus& task : status.tasks) tasks.push_back(task_json(task));
  return {{"id", lesson.id},
          {"name", lesson.name},
          {"status", to_string(status.status)},
          {"points", status.points()},
          {"max_points", lesson.max_points()},
          {"files", files},
          {"tasks", tasks}};
}

}  // namespace

Progress read_progress(const Checkout& checkout) {
  return read_saved<Progress>(checkout, results_file, results_in_words);
}

void update_progress(const Checkout& checkout, const std::function<void(Progress&)>& change) {
  update_saved<Progress>(checkout, results_file, results_in_words, change);
}

std::string report_json(const std::vector<LessonStatus>& lesson_statuses) {
  Json lessons = Json::array();
  for (const LessonStatus& status : lesson_statuses) lessons.push_back(lesson_json(status));
  return Json{{"lessons", lessons}}.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace course::program
