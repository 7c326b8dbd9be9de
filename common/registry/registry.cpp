#include "registry/registry.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "registry/candidates_file.hpp"

namespace course {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(TaskInfo, id, name, points, ranks)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(LessonInfo, id, name, title, part, teaches, needs, files, ring, tasks)

namespace {

struct RoleName {
  Role role;
  const char* name;  ///< in the registry
  const char* words;
};
constexpr RoleName role_names[] = {
    {Role::Softmax, "softmax", "the softmax"},
    {Role::Block, "block", "the block computation"},
    {Role::RingForward, "ring_forward", "the blocking ring"},
    {Role::BlockBackward, "block_backward", "the backward pass of a block"},
    {Role::RingBackward, "ring_backward", "the backward pass of the blocking ring"},
    {Role::RingOverlapped, "ring_overlapped", "the overlapped ring"},
    {Role::RingLayout, "ring_layout", "the causal ring on any layout"},
    {Role::BlockCuda, "block_cuda", "the block computation on a GPU"},
    {Role::RingCuda, "ring_cuda", "the ring on GPUs"},
    {Role::RingGrouped, "ring_grouped", "the ring of shared key heads"},
    {Role::RingPacked, "ring_packed", "the ring of packed rows"},
    {Role::HeadExchange, "head_exchange", "the exchange of tokens for heads"},
    {Role::Grids, "grids", "the grid of rings and exchanges"},
    {Role::BlockRegisters, "block_registers", "blocks in vector registers"},
    {Role::Layer, "layer", "the layer over sequence shards"},
    {Role::Training, "training", "the training run"},
};

template <class Info>
const Info& find(const std::vector<Info>& all, const std::string& id, const std::string& what) {
  const auto found = std::ranges::find(all, id, &Info::id);
  if (found != all.end()) return *found;
  std::string known;
  for (const Info& info : all) known += (known.empty() ? "" : ", ") + info.id;
  throw std::invalid_argument("there is no " + what + " " + id + "; there are: " + known);
}

/// Without its mark: "[json.exception.out_of_range.403] (/lessons/4/tasks/1) key 'name' not found".
std::string plain(const nlohmann::json::exception& error) {
  const std::string text = error.what();
  return text.substr(text.find("] ") + 2);
}

/// The texts between commas: "1, 2".
std::vector<std::string> listed(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream words(text);
  for (std::string word; std::getline(words >> std::ws, word, ',');) all.push_back(word);
  return all;
}

/// A field is the lesson's own or else what the lessons share.
std::string field_of(const CandidateSection& own, const std::vector<CandidateSection>& shared,
                     const std::string& name) {
  if (const auto field = own.fields.find(name); field != own.fields.end()) return field->second;
  const auto same = std::ranges::find(shared, own.id, &CandidateSection::id);
  if (same == shared.end()) return "";
  const auto field = same->fields.find(name);
  return field == same->fields.end() ? "" : field->second;
}

}  // namespace

std::vector<MistakeInfo> read_mistakes(const std::filesystem::path& tests, const std::string& lesson_folder) {
  const std::vector<CandidateSection> shared = read_candidates(tests / "mistakes.md");
  std::vector<MistakeInfo> mistakes;
  for (const CandidateSection& own : read_candidates(tests / lesson_folder / "mistakes.md")) {
    if (own.id.find('+') != std::string::npos || own.id == unnamed_section) continue;
    const auto field = [&](const char* name) { return field_of(own, shared, name); };
    mistakes.push_back({own.id, listed(field("tasks")), field("by"), field("what"), field("exposed by")});
  }
  return mistakes;
}

Role role_named(const std::string& name) {
  const auto found = std::ranges::find(role_names, name, &RoleName::name);
  if (found != std::end(role_names)) return found->role;
  std::string known;
  for (const RoleName& role : role_names) known += (known.empty() ? "" : ", ") + std::string(role.name);
  throw std::invalid_argument("there is no role '" + name + "'; there are: " + known);
}

std::string in_words(Role role) {
  return std::ranges::find(role_names, role, &RoleName::role)->words;
}

const RingKind& ring_kind(const std::string& name) {
  const auto found = std::ranges::find(ring_kinds, name, &RingKind::name);
  if (found != std::end(ring_kinds)) return *found;
  throw std::invalid_argument("there is no ring called " + name);
}

std::vector<std::string> compared_rings() {
  std::vector<std::string> names{"both"};
  for (const RingKind& kind : ring_kinds) {
    if (kind.what == RingFor::Everything && !kind.on_gpu) names.push_back(kind.name);
  }
  return names;
}

std::vector<std::string> exchanges() {
  std::vector<std::string> names{ring_exchange};
  for (const RingKind& kind : ring_kinds) {
    if (kind.is_exchange()) names.push_back(kind.name);
  }
  return names;
}

std::string looks_like(const std::string& what) {
  return "looks like: " + what;
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
  return std::ranges::count(needs, "mpi") > 0;
}

bool LessonInfo::needs_gpu() const {
  return std::ranges::count(needs, "gpu") > 0;
}

std::string LessonInfo::player(Backend backend) const {
  if (needs_gpu() && backend == Backend::Simulator) return needs_mpi() ? "player_gpu_mpi" : "player_gpu";
  return needs_mpi() ? "player_mpi" : "player_solo";
}

Backend backend_named(const std::string& name) {
  if (name == "sim") return Backend::Simulator;
  if (name == "cuda") return Backend::Cuda;
  throw std::invalid_argument("there is no backend '" + name + "'; expected sim or cuda");
}

int LessonInfo::most_ranks() const {
  int most = 0;
  for (const TaskInfo& task : tasks)
    for (const int size : task.ranks) most = std::max(most, size);
  return most;
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
  std::vector<LessonInfo> lessons;
  try {
    const nlohmann::json registry = nlohmann::json::parse(file);
    for (const nlohmann::json& entry : registry.at("lessons")) {
      LessonInfo lesson = entry.get<LessonInfo>();
      lesson.ring_backward = entry.value("ring_backward", "");
      for (std::size_t i = 0; i < lesson.tasks.size(); ++i)
        lesson.tasks[i].rehearsal = entry["tasks"][i].value("rehearsal", 0);
      if (entry.contains("role")) lesson.role = role_named(entry["role"].get<std::string>());
      const LessonInfo* same = lesson.role ? lesson_with(lessons, *lesson.role) : nullptr;
      if (same != nullptr)
        throw std::runtime_error(path.string() + ": lesson " + lesson.id + ": lesson " + same->id +
                                 " has its role, too: " + entry["role"].get<std::string>());
      lesson.mistakes = read_mistakes(path.parent_path() / ".." / "tests", lesson.folder());
      lessons.push_back(std::move(lesson));
    }
  } catch (const nlohmann::json::exception& error) {
    throw std::runtime_error(path.string() + ": " + plain(error));
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(path.string() + ": " + error.what());
  }
  return lessons;
}

const LessonInfo& find_lesson(const std::vector<LessonInfo>& lessons, const std::string& id) {
  return find(lessons, id, "lesson");
}

const LessonInfo* lesson_with(const std::vector<LessonInfo>& lessons, Role role) {
  const auto found = std::ranges::find(lessons, role, &LessonInfo::role);
  return found == lessons.end() ? nullptr : &*found;
}

}  // namespace course
