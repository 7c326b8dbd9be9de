#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "course/selftest/new_lesson.hpp"
#include "course/selftest/test_steps.hpp"
#include "course/workspace/lesson_texts.hpp"
#include "registry/candidates_file.hpp"
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
      : checkout_(checkout),
        lesson_(lesson),
        tests_(fs::path("tests") / lesson.folder()),
        mistakes_(tests_ / "mistakes.md") {}

  std::vector<std::string> findings() {
    look_at_texts();
    look_at_rings();
    look_at_tasks();
    look_at_mistakes();
    look_at_judge();
    look_at_files();
    look_at_readme();
    look_at_mistake_rows();
    look_at_hints();
    look_at_solution();
    look_at_candidates();
    return std::move(findings_);
  }

 private:
  void require(bool fulfilled, const std::string& field, const fs::path& path, const std::string& what) {
    if (!fulfilled) findings_.push_back(finding(lesson_.id, field, path, what));
  }

  void require_file(const std::string& kind, const fs::path& path) {
    require(is_file(path), kind, path, "it is missing");
  }

  /// A file with more than headings.
  void require_text(const std::string& kind, const fs::path& path) {
    require_file(kind, path);
    if (!is_file(path)) return;
    const std::vector<std::string> lines = lines_of(read_text(checkout_.root / path));
    const auto is_bare = [](const std::string& line) { return line.empty() || line.starts_with("#"); };
    require(!std::ranges::all_of(lines, is_bare), kind, path, "it has headings alone");
  }

  fs::path adapter() const {
    return tests_ / ("adapter" + fs::path(lesson_.files.front()).extension().string());
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
      require(need == "mpi" || need == "gpu", "needs", registry,
              "'" + need + "' is not known; expected mpi or gpu");
    require(!lesson_.files.empty(), "files", registry, "there are none");
  }

  /// What the registry calls a ring is a function of the adapter, which binds it by this name.
  void look_at_rings() {
    const fs::path path = adapter();
    if (!is_file(path)) return;
    const std::string text = read_text(checkout_.root / path);
    for (const auto& [field, function] :
         {std::pair{"ring", lesson_.ring}, std::pair{"ring_backward", lesson_.ring_backward}}) {
      require(function.empty() || text.find("\"" + function + "\"") != std::string::npos, field, registry,
              fmt::format("{} binds no function '{}'", path.string(), function));
    }
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
      const std::string field = "mistake " + mistake.id;
      require(ids.insert(mistake.id).second, field, mistakes_, "this id occurs twice");
      require(!mistake.tasks.empty(), field, mistakes_, "it fails no task");
      for (const std::string& task : mistake.tasks) require_task(field, mistakes_, task);
      require(mistake.by == "answer" || mistake.by == "instrument", field, mistakes_,
              "by is '" + mistake.by + "'; expected answer or instrument");
      require(!mistake.what.empty() && !mistake.exposed_by.empty(), field, mistakes_,
              "what or exposed by is empty");
    }
  }

  /// What the judge, once it is built, would refuse: a task that it does not have, and a mistake that is told
  /// by its answer, which neither it nor a family computes.
  void look_at_judge() {
    const fs::path path = tests_ / "judge.cpp";
    if (!is_file(path)) return;
    const std::string own = read_text(checkout_.root / path);
    const auto has = [](const std::string& text, const std::string& id) {
      return text.find('"' + id + '"') != std::string::npos;
    };
    for (const TaskInfo& task : lesson_.tasks)
      require(has(own, task.id), "judge", path, "it has no task " + task.id + ", which the registry has");
    if (is_file(tests_ / "outcomes.tsv")) return;  // nothing is computed; each mutant's test looks itself up
    std::string families;
    for (const MistakeInfo& mistake : lesson_.mistakes) {
      if (mistake.by != "answer" || has(own, mistake.id)) continue;
      if (families.empty()) families = text_of_families();
      require(has(families, mistake.id), "mistake " + mistake.id, mistakes_,
              "it is told by its answer, and no judge computes it: " + path.string() + " does not name it");
    }
  }

  std::string text_of_families() const {
    std::string all;
    const fs::path folder = checkout_.root / "common/judge";
    if (!fs::is_directory(folder)) return all;
    for (const fs::directory_entry& file : fs::recursive_directory_iterator(folder)) {
      if (file.path().extension() == ".cpp" || file.path().extension() == ".hpp")
        all += read_text(file.path());
    }
    return all;
  }

  void look_at_files() {
    const fs::path lesson = Checkout::lesson_folder(lesson_);
    require_file("contract header", lesson / (lesson_.name + ".hpp"));
    require_file("README", lesson / "README.md");
    require_file("hints", lesson / "hints.md");
    require_text("why", fs::path("solutions") / lesson_.folder() / "why.md");
    require_file("adapter", adapter());
    require_file("judge", tests_ / "judge.cpp");
    require(!files_in(lesson, {".svg"}).empty(), "picture", lesson, "it has no .svg");
  }

  void look_at_readme() {
    const fs::path path = Checkout::lesson_folder(lesson_) / "README.md";
    if (!is_file(path)) return;
    const std::vector<std::string> lines = lines_of(read_text(checkout_.root / path));
    const std::string title = "# " + lesson_.id + " · ";
    require(!lines.empty() && lines[0].starts_with(title), "README", path,
            "it does not begin with the title '" + title + "...'");
    for (const std::string section : readme_sections) {
      const auto heading = std::ranges::find(lines, "## " + section);
      const auto text = std::find_if(std::next(heading, heading != lines.end()), lines.end(),
                                     [](const std::string& line) { return !line.empty(); });
      require(heading != lines.end(), "README", path, "it has no section '" + section + "'");
      require(heading == lines.end() || (text != lines.end() && !text->starts_with("## ")), "README", path,
              "the section '" + section + "' is empty");
    }
  }

  /// Every known mistake has a row that explains it, and no row names another.
  void look_at_mistake_rows() {
    const fs::path path = Checkout::lesson_folder(lesson_) / "README.md";
    if (!is_file(path)) return;
    std::set<std::string> explained, facts;
    for (const MistakeRow& row : mistake_rows(checkout_, lesson_)) {
      const bool whole = !row.seen.empty() && !row.cause.empty();
      require(whole, "README", row.page, fmt::format("line {}: a cell of the row is empty", row.line));
      for (const std::string& id : row.mistakes) {
        const bool known =
            std::ranges::find(lesson_.mistakes, id, &MistakeInfo::id) != lesson_.mistakes.end();
        // A page that several lessons share has rows on mistakes that this one lacks.
        require(known || row.page != path, "README", path,
                fmt::format("line {}: '{}' is no known mistake of this lesson", row.line, id));
        if (whole) explained.insert(id);
      }
      for (const std::string& kind : row.facts) {
        look_at_fact(kind, row);
        require(facts.insert(kind).second, "README", row.page,
                fmt::format("line {}: a row before this one is on the fact '{}', and only the first is shown",
                            row.line, kind));
      }
    }
    for (const MistakeInfo& mistake : lesson_.mistakes)
      require(explained.contains(mistake.id), "README", path,
              fmt::format("no row of '{}' explains {}", mistakes_section, mistake.id));
  }

  void look_at_fact(const std::string& kind, const MistakeRow& row) {
    const fs::path kinds = "common/protocol/fact_kinds.hpp";
    if (!is_file(kinds)) return;
    const auto defines = [&](const std::string& line) {
      return line.find(" fact_") != std::string::npos && line.ends_with(" = \"" + kind + "\";");
    };
    require(std::ranges::any_of(lines_of(read_text(checkout_.root / kinds)), defines), "README", row.page,
            fmt::format("line {}: '{}' is no kind of fact in {}", row.line, kind, kinds.string()));
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
      const bool plain = std::ranges::all_of(
          hints[task.id], [](const std::string& text) { return text.find('$') == std::string::npos; });
      require(
          plain, "hints", path,
          fmt::format("task {} has a formula in LaTeX, which ./course hint prints as it stands", task.id));
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
      look_at_marks(path, text);
      try {
        marked = marked || skeleton_of(text) != text;
      } catch (const std::invalid_argument& error) {
        require(false, "solution", path, error.what());
        marked = true;
      }
    }
    const fs::path answer = fs::path("tests/ledger/answers") / lesson_.folder() /
                            ("right" + fs::path(lesson_.files.front()).extension().string());
    if (is_file(answer)) {
      const std::string text = read_text(checkout_.root / answer);
      require(unmarked(text) == text, "answer", answer, "it has marks; it is kept without them");
    }
    require(marked, "solution", fs::path("solutions") / lesson_.folder(), "no file has the marks of a task");
  }

  /// Marks are of tasks that there are, and what they enclose is solved: new-lesson puts there what the
  /// skeleton says.
  void look_at_marks(const fs::path& path, const std::string& text) {
    int number = 0;
    for (const std::string& line : lines_of(text)) {
      ++number;
      const std::string bare = line.substr(std::min(line.find_first_not_of(' '), line.size()));
      for (const std::string mark : {"//> task ", "#> task "}) {
        if (bare.starts_with(mark))
          require_task(fmt::format("solution, line {}", number), path, bare.substr(mark.size()));
      }
      require(!bare.starts_with("throw course::NotImplemented"), "solution", path,
              fmt::format("line {}: nothing is solved here yet", number));
    }
  }

  /// Every mistake has a form, every form can be made of the solution, and there are variants and
  /// combinations.
  void look_at_candidates() {
    const std::vector<CandidateSection> sections = sections_of("mistake", mistakes_);
    const fs::path variants_path = tests_ / "variants.md";
    const std::vector<CandidateSection> variants = sections_of("variant", variants_path);
    std::size_t combinations = 0;
    for (const CandidateSection& section : sections) {
      const bool combination = section.id.find('+') != std::string::npos;
      combinations += combination;
      if (!combination)
        require(!section.forms_in(false).empty(), "mistake", mistakes_, section.id + " has no form");
      look_at_forms("mistake", mistakes_, sections, section);
    }
    for (const CandidateSection& variant : variants) {
      require(!variant.forms.empty(), "variant", variants_path, variant.id + " has no form");
      look_at_forms("variant", variants_path, variants, variant);
    }
    const auto in_cpp = std::ranges::count_if(
        variants, [](const CandidateSection& variant) { return !variant.forms_in(false).empty(); });
    require_at_least(fewest_variants, static_cast<std::size_t>(in_cpp), "variants", variants_path);
    require_at_least(fewest_combinations, combinations, "combinations", mistakes_);
  }

  void require_at_least(std::size_t fewest, std::size_t count, const std::string& field,
                        const fs::path& path) {
    require(count >= fewest, field, path, fmt::format("there are {}, expected at least {}", count, fewest));
  }

  /// Nothing, and a finding, where the file cannot be read.
  std::vector<CandidateSection> sections_of(const std::string& field, const fs::path& path) {
    try {
      if (!is_file(path)) require_file(field + "s", path);
      return read_candidates(checkout_.root / path);
    } catch (const std::runtime_error& error) {
      const std::string text = error.what();
      require(false, field, path, text.substr(text.find(": ") + 2));
      return {};
    }
  }

  /// Makes each form of each language, as the build will.
  void look_at_forms(const std::string& field, const fs::path& path, const std::vector<CandidateSection>& all,
                     const CandidateSection& section) {
    for (const bool python : {false, true}) {
      const bool combination = section.id.find('+') != std::string::npos;
      const std::size_t own = section.forms_in(python).size();
      const std::size_t count = combination && !python ? std::max<std::size_t>(own, 1) : own;
      const std::string file = python ? lesson_.name + ".py" : lesson_.files.front();
      const fs::path solution = checkout_.root / Checkout::solution_file(lesson_, file);
      if (!fs::is_regular_file(solution)) continue;
      try {
        for (std::size_t form = 1; form <= count; ++form)
          candidate_source(read_text(solution), all, section.id, form, python);
      } catch (const std::runtime_error& error) {
        require(false, field, path, section.id + ": " + error.what());
      }
    }
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
  fs::path mistakes_;
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
