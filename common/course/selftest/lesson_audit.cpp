#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include "course/selftest/test_steps.hpp"
#include "course/workspace/lesson_texts.hpp"
#include "runner/subprocess.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr const char* registry = "lessons/registry.json";
constexpr std::size_t fewest_hints = 3;
constexpr std::size_t fewest_variants = 3;
constexpr std::size_t fewest_combinations = 2;

std::string finding(const std::string& lesson, const std::string& field, const fs::path& path,
                    const std::string& what) {
  return fmt::format("lesson {}: {}: {}: {}", lesson, field, path.string(), what);
}

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
    look_at_candidates("mutant", 0);
    look_at_candidates("variant", fewest_variants);
    look_at_candidates("combination", fewest_combinations);
    look_for_mutants();
    return std::move(findings_);
  }

 private:
  void require(bool fulfilled, const std::string& field, const fs::path& path, const std::string& what) {
    if (!fulfilled) findings_.push_back(finding(lesson_.id, field, path, what));
  }

  void require_file(const std::string& kind, const fs::path& path) {
    require(is_file(path), kind, path, "it is missing");
  }

  void require_mistake(const std::string& kind, const fs::path& path, const std::string& id) {
    const bool known = std::ranges::find(lesson_.mistakes, id, &MistakeInfo::id) != lesson_.mistakes.end();
    require(known, kind, path, "the registry has no mistake '" + id + "'");
  }

  void require_task(const std::string& field, const fs::path& path, const std::string& id) {
    const bool known = std::ranges::find(lesson_.tasks, id, &TaskInfo::id) != lesson_.tasks.end();
    require(known, field, path, "there is no task " + id);
  }

  void look_at_texts() {
    require(!lesson_.title.empty(), "title", registry, "it is empty");
    require(!lesson_.part.empty(), "part", registry, "it is empty");
    require(!lesson_.teaches.empty(), "teaches", registry, "it is empty");
    for (const std::string& need : lesson_.needs)
      require(need == "mpi", "needs", registry, "'" + need + "' is not known; expected mpi");
    require(!lesson_.files.empty(), "files", registry, "there are none");
  }

  void look_at_tasks() {
    std::set<std::string> ids;
    require(!lesson_.tasks.empty(), "tasks", registry, "there are none");
    for (const TaskInfo& task : lesson_.tasks) {
      const std::string field = "tasks: " + task.id;
      require(ids.insert(task.id).second, field, registry, "this id occurs twice");
      require(task.points > 0, field, registry, fmt::format("it gives {} points", task.points));
      require(task.ranks.empty() || lesson_.needs_mpi(), field, registry,
              "it has ranks, and needs lacks mpi");
    }
  }

  void look_at_mistakes() {
    std::set<std::string> ids;
    for (const MistakeInfo& mistake : lesson_.mistakes) {
      const std::string field = "mistakes: " + mistake.id;
      require(ids.insert(mistake.id).second, field, registry, "this id occurs twice");
      require(!mistake.tasks.empty(), field, registry, "it fails no task");
      for (const std::string& task : mistake.tasks) require_task(field, registry, task);
      require(mistake.by == "answer" || mistake.by == "instrument", field, registry,
              "by is '" + mistake.by + "'; expected answer or instrument");
      require(!mistake.what.empty() && !mistake.exposed_by.empty(), field, registry,
              "what or exposed_by is empty");
    }
  }

  void look_at_files() {
    const fs::path lesson = Checkout::lesson_folder(lesson_);
    require_file("contract header", lesson / (lesson_.name + ".hpp"));
    require_file("README", lesson / "README.md");
    require_file("hints", lesson / "hints.md");
    require_file("why", fs::path("solutions") / lesson_.folder() / "why.md");
    require_file("adapter", tests_ / "adapter.cpp");
    require_file("judge", tests_ / "judge.cpp");
    require(!files_in(lesson, {".svg"}).empty(), "picture", lesson, "it has no .svg");
  }

  void look_at_hints() {
    const fs::path path = Checkout::lesson_folder(lesson_) / "hints.md";
    if (!is_file(path)) return;
    std::map<std::string, std::vector<std::string>> hints = parse_hints(read_text(checkout_.root / path));
    for (const auto& [task, texts] : hints) require_task("hints", path, task);
    for (const TaskInfo& task : lesson_.tasks) {
      const std::size_t count = hints[task.id].size();
      require(count >= fewest_hints, "hints", path,
              fmt::format("task {} has {}, expected at least {}", task.id, count, fewest_hints));
    }
  }

  /// The skeleton in lessons/ may be a student's answer by now: only that one can be cut is looked at.
  void look_at_solution() {
    bool marked = false;
    for (const std::string& file : lesson_.files) {
      const fs::path path = Checkout::solution_file(lesson_, file);
      require_file("solution", path);
      if (!is_file(path)) continue;
      const std::string text = read_text(checkout_.root / path);
      try {
        marked = marked || skeleton_of(text) != text;
      } catch (const std::invalid_argument& error) {
        require(false, "solution", path, error.what());
        marked = true;
      }
    }
    require(marked, "solution", fs::path("solutions") / lesson_.folder(), "no file has the marks of a task");
  }

  /// The lesson's mutants, variants or combinations: ID.cpp or ID.patch.
  std::vector<fs::path> candidates(const std::string& kind) const {
    return files_in(tests_ / (kind + "s"), {".cpp", ".patch"});
  }

  void look_at_candidates(const std::string& kind, std::size_t fewest) {
    const std::vector<fs::path> all = candidates(kind);
    require(all.size() >= fewest, kind, tests_ / (kind + "s"),
            fmt::format("there are {}, expected at least {}", all.size(), fewest));
    for (const fs::path& path : all) {
      const std::string id = path.stem();
      std::istringstream mistakes(kind == "variant" ? "" : id);
      for (std::string mistake; std::getline(mistakes, mistake, '+');) require_mistake(kind, path, mistake);
      if (lesson_.files.empty() || path.extension() != ".patch") continue;
      const fs::path solution = Checkout::solution_file(lesson_, lesson_.files.front());
      require(applies(path, solution), kind, path,
              fmt::format(
                  "it does not apply to {0} any more: make the change in a copy of it, "
                  "/tmp/changed.cpp, then diff -u --label solution --label {1} {0} /tmp/changed.cpp > {2}",
                  solution.string(), id, path.string()));
    }
  }

  /// Each mistake has one.
  void look_for_mutants() {
    std::set<std::string> ids;
    for (const fs::path& path : candidates("mutant"))
      require(ids.insert(path.stem()).second, "mutant", path, "it is there as a patch, too");
    for (const MistakeInfo& mistake : lesson_.mistakes) {
      require(ids.contains(mistake.id), "mutant", tests_ / "mutants" / (mistake.id + ".patch"),
              "the mistake " + mistake.id + " has no mutant, neither .patch nor .cpp");
    }
  }

  bool applies(const fs::path& patch, const fs::path& solution) const {
    const std::vector<std::string> command{"patch",         "--quiet", "--force", "--output", "/dev/null",
                                           "--reject-file", "-",       solution,  patch};
    return !is_file(solution) || capture({.argv = command, .folder = checkout_.root}).exit.code == 0;
  }

  bool is_file(const fs::path& path) const { return fs::is_regular_file(checkout_.root / path); }

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
    if (!ids.insert(lesson.id).second)
      findings.push_back(finding(lesson.id, "id", registry, "another lesson has it, too"));
    for (const std::string& file : lesson.files) {
      const auto [owner, is_new] = owners.emplace(file, lesson.id);
      if (!is_new)
        findings.push_back(finding(lesson.id, "files", registry,
                                   "lesson " + owner->second + " has a file " + file + ", too"));
    }
  }
  return findings;
}

}  // namespace course::program
