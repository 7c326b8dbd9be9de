#include "registry/registry.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace course {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MistakeInfo, id, tasks, by, what, exposed_by)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TaskInfo, id, name, points, ranks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LessonInfo, id, name, title, part, teaches, needs, files, tasks, mistakes)

namespace {

template <class Info>
const Info& find(const std::vector<Info>& all, const std::string& id, const std::string& what) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Info& info) { return info.id == id; });
  if (found != all.end()) return *found;
  std::string known;
  for (const Info& info : all) known += (known.empty() ? "" : ", ") + info.id;
  throw std::invalid_argument("there is no " + what + " " + id + "; there are: " + known);
}

}  // namespace

bool LessonInfo::needs_mpi() const {
  return std::find(needs.begin(), needs.end(), "mpi") != needs.end();
}

int LessonInfo::max_points() const {
  int points = 0;
  for (const TaskInfo& task : tasks) points += task.points;
  return points;
}

const TaskInfo& LessonInfo::task(const std::string& task_id) const {
  return find(tasks, task_id, "task of lesson " + id + " called");
}

const MistakeInfo& LessonInfo::mistake(const std::string& mistake_id) const {
  return find(mistakes, mistake_id, "mistake of lesson " + id + " called");
}

std::vector<LessonInfo> read_registry(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  try {
    return nlohmann::json::parse(file).at("lessons").get<std::vector<LessonInfo>>();
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path.string() + ": " + error.what());
  }
}

const LessonInfo& find_lesson(const std::vector<LessonInfo>& lessons, const std::string& id) {
  return find(lessons, id, "lesson");
}

}  // namespace course
