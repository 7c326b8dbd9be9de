#include "registry/registry.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace course {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MistakeInfo, id, tasks, by, what, exposed_by)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TaskInfo, id, name, points, ranks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LessonInfo, id, name, title, part, teaches, needs, files, ring, tasks,
                                   mistakes)

namespace {

struct RoleName {
  Role role;
  const char* name;  ///< in the registry
  const char* words;
};
constexpr RoleName role_names[] = {
    {Role::Block, "block", "the block computation"},
    {Role::RingForward, "ring_forward", "the blocking ring"},
    {Role::BlockBackward, "block_backward", "the backward pass of a block"},
    {Role::RingBackward, "ring_backward", "the backward pass of the blocking ring"},
    {Role::RingOverlapped, "ring_overlapped", "the overlapped ring"},
};

template <class Info>
const Info& find(const std::vector<Info>& all, const std::string& id, const std::string& what) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const Info& info) { return info.id == id; });
  if (found != all.end()) return *found;
  std::string known;
  for (const Info& info : all) known += (known.empty() ? "" : ", ") + info.id;
  throw std::invalid_argument("there is no " + what + " " + id + "; there are: " + known);
}

/// Without its mark: "[json.exception.out_of_range.403] key 'title' not found".
std::string plain(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  const std::size_t mark = text.find("] ");
  return mark == std::string::npos ? text : text.substr(mark + 2);
}

nlohmann::json parse(const std::filesystem::path& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  try {
    return nlohmann::json::parse(file);
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path.string() + ": " + plain(error));
  }
}

/// The value as a T; `where` is what a message calls it.
template <class T>
T read(const nlohmann::json& value, const std::string& where) {
  try {
    return value.get<T>();
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(where + ": " + plain(error));
  }
}

/// "lesson 05", or "lesson number 5" where there is no id to read.
std::string title_of(const char* kind, const nlohmann::json& value, std::size_t index) {
  if (value.is_object() && value.contains("id") && value["id"].is_string()) {
    return std::string(kind) + " " + value["id"].get<std::string>();
  }
  return std::string(kind) + " number " + std::to_string(index + 1);
}

/// The entries of a list, one by one, so that a message can name the one that is wrong.
template <class T>
std::vector<T> read_list(const nlohmann::json& list, const char* kind, const std::string& where) {
  if (!list.is_array()) throw std::runtime_error(where + ": expected a list");
  std::vector<T> all;
  for (std::size_t i = 0; i < list.size(); ++i) {
    all.push_back(read<T>(list[i], where + ": " + title_of(kind, list[i], i)));
  }
  return all;
}

Role read_role(const nlohmann::json& value, const std::string& where) {
  const std::string name = read<std::string>(value, where + ": role");
  std::string known;
  for (const RoleName& role : role_names) {
    if (name == role.name) return role.role;
    known += (known.empty() ? "" : ", ") + std::string(role.name);
  }
  throw std::runtime_error(where + ": there is no role '" + name + "'; there are: " + known);
}

/// A lesson, its tasks and mistakes first.
LessonInfo read_lesson(const nlohmann::json& value, const std::string& where) {
  if (value.is_object() && value.contains("tasks")) read_list<TaskInfo>(value["tasks"], "task", where);
  if (value.is_object() && value.contains("mistakes")) {
    read_list<MistakeInfo>(value["mistakes"], "mistake", where);
  }
  LessonInfo lesson = read<LessonInfo>(value, where);
  if (value.contains("ring_backward"))
    lesson.ring_backward = read<std::string>(value["ring_backward"], where + ": ring_backward");
  if (value.contains("role")) lesson.role = read_role(value["role"], where);
  return lesson;
}

}  // namespace

std::string in_words(Role role) {
  return std::find_if(std::begin(role_names), std::end(role_names),
                      [&](const RoleName& name) { return name.role == role; })
      ->words;
}

const RingKind& ring_kind(const std::string& name) {
  for (const RingKind& kind : ring_kinds) {
    if (name == kind.name) return kind;
  }
  throw std::invalid_argument("there is no ring called " + name);
}

std::string test_name(const std::string& task, int ranks, bool hidden) {
  return task + (ranks > 0 ? ".ranks" + std::to_string(ranks) : "") + (hidden ? hidden_suffix : "");
}

std::vector<std::string> test_names(const TaskInfo& task) {
  std::vector<std::string> names;
  for (const int ranks : task.test_ranks()) names.push_back(test_name(task.id, ranks));
  return names;
}

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
  const nlohmann::json registry = parse(path);
  if (!registry.is_object() || !registry.contains("lessons") || !registry["lessons"].is_array()) {
    throw std::runtime_error(path.string() + ": expected an object with a list of lessons");
  }
  std::vector<LessonInfo> lessons;
  for (std::size_t i = 0; i < registry["lessons"].size(); ++i) {
    const nlohmann::json& entry = registry["lessons"][i];
    const std::string where = path.string() + ": " + title_of("lesson", entry, i);
    LessonInfo lesson = read_lesson(entry, where);
    const LessonInfo* same = lesson.role ? lesson_with(lessons, *lesson.role) : nullptr;
    if (same != nullptr)
      throw std::runtime_error(where + ": lesson " + same->id +
                               " has its role, too: " + entry["role"].get<std::string>());
    lessons.push_back(std::move(lesson));
  }
  return lessons;
}

const LessonInfo& find_lesson(const std::vector<LessonInfo>& lessons, const std::string& id) {
  return find(lessons, id, "lesson");
}

const LessonInfo* lesson_with(const std::vector<LessonInfo>& lessons, Role role) {
  const auto found = std::find_if(lessons.begin(), lessons.end(),
                                  [&](const LessonInfo& lesson) { return lesson.role == role; });
  return found == lessons.end() ? nullptr : &*found;
}

}  // namespace course
