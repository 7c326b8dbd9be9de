#include "course/selftest/lesson_audit.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "course/workspace/hints.hpp"
#include "runner/subprocess.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t fewest_hints = 3;
constexpr std::size_t fewest_variants = 3;
constexpr std::size_t fewest_combinations = 2;

/// A mutant, a variant or a combination: ID.cpp or ID.patch, relative to the checkout.
struct Judged {
  std::string id;
  fs::path path;
};

/// The audit of one lesson.
class Audit {
 public:
  Audit(const Checkout& checkout, const LessonInfo& lesson)
      : checkout_(checkout), lesson_(lesson), tests_(fs::path("tests") / lesson.folder()) {}

  std::vector<std::string> findings() {
    look_at_texts();
    look_at_tasks();
    look_at_mistakes();
    look_at_files();
    look_at_hints();
    look_at_solution();
    look_at_mutants();
    look_at_number_of("variant", fewest_variants);
    look_at_number_of("combination", fewest_combinations);
    look_at_combinations();
    for (const char* kind : {"mutant", "variant", "combination"}) look_at_patches(kind);
    return std::move(findings_);
  }

 private:
  static constexpr const char* registry = "lessons/registry.json";

  void find(const std::string& field, const fs::path& path, const std::string& what) {
    findings_.push_back(fmt::format("lesson {}: {}: {}: {}", lesson_.id, field, path.string(), what));
  }

  void look_at_texts() {
    for (const auto& [field, text] : {std::pair{"title", &lesson_.title}, std::pair{"part", &lesson_.part},
                                      std::pair{"teaches", &lesson_.teaches}}) {
      if (text->empty()) find(field, registry, "it is empty");
    }
    for (const std::string& need : lesson_.needs) {
      if (need != "mpi") find("needs", registry, "'" + need + "' is not known; expected mpi");
    }
    if (lesson_.files.empty()) find("files", registry, "there are none");
  }

  void look_at_tasks() {
    std::set<std::string> ids;
    if (lesson_.tasks.empty()) find("tasks", registry, "there are none");
    for (const TaskInfo& task : lesson_.tasks) {
      const std::string field = "tasks: " + task.id;
      if (!ids.insert(task.id).second) find(field, registry, "this id occurs twice");
      if (task.points <= 0) find(field, registry, fmt::format("it gives {} points", task.points));
      if (!task.ranks.empty() && !lesson_.needs_mpi())
        find(field, registry, "it has ranks, and needs lacks mpi");
    }
  }

  void look_at_mistakes() {
    std::set<std::string> ids;
    for (const MistakeInfo& mistake : lesson_.mistakes) {
      const std::string field = "mistakes: " + mistake.id;
      if (!ids.insert(mistake.id).second) find(field, registry, "this id occurs twice");
      if (mistake.tasks.empty()) find(field, registry, "it fails no task");
      for (const std::string& task : mistake.tasks) {
        if (!has_task(task)) find(field, registry, "there is no task " + task);
      }
      if (mistake.by != "answer" && mistake.by != "instrument") {
        find(field, registry, "by is '" + mistake.by + "'; expected answer or instrument");
      }
      if (mistake.what.empty() || mistake.exposed_by.empty()) {
        find(field, registry, "what or exposed_by is empty");
      }
    }
  }

  void look_at_files() {
    const fs::path lesson = Checkout::lesson_folder(lesson_);
    const fs::path solution = fs::path("solutions") / lesson_.folder();
    const std::vector<std::pair<const char*, fs::path>> needed{
        {"contract header", lesson / (lesson_.name + ".hpp")},
        {"README", lesson / "README.md"},
        {"hints", lesson / "hints.md"},
        {"why", solution / "why.md"},
        {"adapter", tests_ / "adapter.cpp"},
        {"judge", tests_ / "judge.cpp"}};
    for (const auto& [kind, path] : needed) {
      if (!fs::is_regular_file(checkout_.root / path)) find(kind, path, "it is missing");
    }
    if (files_in(lesson, {".svg"}).empty()) find("picture", lesson, "it has no .svg");
  }

  void look_at_hints() {
    const fs::path path = Checkout::lesson_folder(lesson_) / "hints.md";
    if (!fs::is_regular_file(checkout_.root / path)) return;
    const std::map<std::string, std::vector<std::string>> hints =
        parse_hints(read_text(checkout_.root / path));
    for (const TaskInfo& task : lesson_.tasks) {
      const auto found = hints.find(task.id);
      const std::size_t count = found == hints.end() ? 0 : found->second.size();
      if (count >= fewest_hints) continue;
      find("hints", path, fmt::format("task {} has {}, expected at least {}", task.id, count, fewest_hints));
    }
    for (const auto& [task, texts] : hints) {
      if (!has_task(task)) find("hints", path, "there is no task " + task);
    }
  }

  /// The skeleton in lessons/ may be a student's answer by now: only that one can be cut is looked at.
  void look_at_solution() {
    bool marked = false;
    for (const std::string& file : lesson_.files) {
      const fs::path path = Checkout::solution_file(lesson_, file);
      if (!fs::is_regular_file(checkout_.root / path)) {
        find("solution", path, "it is missing");
        continue;
      }
      const std::string text = read_text(checkout_.root / path);
      try {
        marked = marked || skeleton_of(text) != text;
      } catch (const std::invalid_argument& error) {
        find("solution", path, error.what());
        marked = true;
      }
    }
    if (!marked)
      find("solution", fs::path("solutions") / lesson_.folder(), "no file has the marks of a task");
  }

  void look_at_mutants() {
    std::set<std::string> ids;
    for (const Judged& mutant : judged_files("mutant")) {
      if (!ids.insert(mutant.id).second) find("mutant", mutant.path, "it is there as a patch, too");
      if (!has_mistake(mutant.id)) find("mutant", mutant.path, "the registry has no mistake " + mutant.id);
    }
    for (const MistakeInfo& mistake : lesson_.mistakes) {
      if (ids.contains(mistake.id)) continue;
      find("mutant", tests_ / "mutants" / (mistake.id + ".patch"),
           "the mistake " + mistake.id + " has no mutant, neither .patch nor .cpp");
    }
  }

  void look_at_number_of(const std::string& kind, std::size_t fewest) {
    const std::size_t count = judged_files(kind).size();
    if (count >= fewest) return;
    find(kind, tests_ / (kind + "s"), fmt::format("there are {}, expected at least {}", count, fewest));
  }

  void look_at_combinations() {
    for (const Judged& combination : judged_files("combination")) {
      std::string rest = combination.id;
      for (std::size_t end = 0; end != std::string::npos; rest.erase(0, end + 1)) {
        end = rest.find('+');
        const std::string id = rest.substr(0, end);
        if (!has_mistake(id))
          find("combination", combination.path, "the registry has no mistake '" + id + "'");
        if (end == std::string::npos) break;
      }
    }
  }

  void look_at_patches(const std::string& kind) {
    if (lesson_.files.empty()) return;
    const fs::path solution = Checkout::solution_file(lesson_, lesson_.files.front());
    for (const Judged& judged : judged_files(kind)) {
      if (judged.path.extension() != ".patch" || applies(judged.path, solution)) continue;
      find(
          kind, judged.path,
          fmt::format("it does not apply to {0} any more: make the change in a copy of it, /tmp/changed.cpp, "
                      "then diff -u --label solution --label {1} {0} /tmp/changed.cpp > {2}",
                      solution.string(), judged.id, judged.path.string()));
    }
  }

  bool applies(const fs::path& patch, const fs::path& solution) const {
    const std::vector<std::string> command{"patch",         "--quiet", "--force", "--output", "/dev/null",
                                           "--reject-file", "-",       solution,  patch};
    return !fs::exists(checkout_.root / solution) ||
           capture({.argv = command, .folder = checkout_.root}).exit.code == 0;
  }

  std::vector<fs::path> files_in(const fs::path& folder, const std::set<std::string>& extensions) const {
    std::vector<fs::path> found;
    std::error_code none;
    for (const fs::directory_entry& entry : fs::directory_iterator(checkout_.root / folder, none)) {
      const fs::path name = entry.path().filename();
      if (extensions.contains(name.extension())) found.push_back(folder / name);
    }
    std::ranges::sort(found);
    return found;
  }

  std::vector<Judged> judged_files(const std::string& kind) const {
    std::vector<Judged> found;
    for (const fs::path& path : files_in(tests_ / (kind + "s"), {".cpp", ".patch"})) {
      found.push_back({path.stem(), path});
    }
    return found;
  }

  bool has_task(const std::string& id) const {
    return std::ranges::any_of(lesson_.tasks, [&](const TaskInfo& task) { return task.id == id; });
  }

  bool has_mistake(const std::string& id) const {
    return std::ranges::any_of(lesson_.mistakes,
                               [&](const MistakeInfo& mistake) { return mistake.id == id; });
  }

  const Checkout& checkout_;
  const LessonInfo& lesson_;
  fs::path tests_;
  std::vector<std::string> findings_;
};

}  // namespace

std::vector<std::string> audit(const Checkout& checkout, const LessonInfo& lesson) {
  return Audit(checkout, lesson).findings();
}

std::vector<std::string> audit_registry(const std::vector<LessonInfo>& lessons) {
  std::vector<std::string> findings;
  std::set<std::string> ids;
  std::map<std::string, std::string> owners;
  for (const LessonInfo& lesson : lessons) {
    if (!ids.insert(lesson.id).second) {
      findings.push_back("lesson " + lesson.id + ": id: lessons/registry.json: another lesson has it, too");
    }
    for (const std::string& file : lesson.files) {
      const auto [owner, is_new] = owners.emplace(file, lesson.id);
      if (is_new) continue;
      findings.push_back("lesson " + lesson.id + ": files: lessons/registry.json: lesson " + owner->second +
                         " has a file " + file + ", too");
    }
  }
  return findings;
}

}  // namespace course::program
