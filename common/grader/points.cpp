#include "grader/points.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "protocol/errors.hpp"
#include "text/text_file.hpp"

namespace course::grader {

namespace {

void override_one(LessonInfo& lesson, const std::string& task_id, const nlohmann::json& points) {
  const auto task = std::find_if(lesson.tasks.begin(), lesson.tasks.end(),
                                 [&](const TaskInfo& info) { return info.id == task_id; });
  if (task == lesson.tasks.end())
    throw UsageError("--points: lesson " + lesson.id + " has no task " + task_id);
  if (!points.is_number_unsigned() || points.get<unsigned>() > 1'000'000) {
    throw UsageError("--points: " + lesson.id + "." + task_id + " is " + points.dump() +
                     ", expected a whole number from 0 to 1000000");
  }
  task->points = points.get<int>();
}

}  // namespace

void override_points(std::vector<LessonInfo>& lessons, const std::filesystem::path& file) {
  nlohmann::json all;
  try {
    all = nlohmann::json::parse(read_text(file));
  } catch (const nlohmann::json::exception& error) {
    throw UsageError("--points: " + file.string() + " is no JSON: " + error.what());
  } catch (const std::runtime_error& error) {
    throw UsageError(std::string("--points: ") + error.what());
  }
  if (!all.is_object()) throw UsageError("--points: " + file.string() + R"( is not like {"05": {"2": 80}})");
  for (const auto& [id, tasks] : all.items()) {
    const auto lesson = std::find_if(lessons.begin(), lessons.end(),
                                     [&, &wanted = id](const LessonInfo& info) { return info.id == wanted; });
    if (lesson == lessons.end()) throw UsageError("--points: there is no lesson " + id);
    if (!tasks.is_object()) throw UsageError("--points: lesson " + id + R"( is not like {"2": 80})");
    for (const auto& [task, points] : tasks.items()) override_one(*lesson, task, points);
  }
}

}  // namespace course::grader
