#include "course/selftest/new_lesson.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <regex>

#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "registry/candidates_file.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr const char* registry_file = "lessons/registry.json";

/// The lesson with this role, of which the new one begins as a copy.
const LessonInfo& model_of(const std::vector<LessonInfo>& lessons, const std::string& role) {
  try {
    if (const LessonInfo* model = lesson_with(lessons, role_named(role))) return *model;
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--family: ") + error.what());
  }
  throw UsageError("--family " + role + ": no lesson has this role");
}

std::string next_id(const std::vector<LessonInfo>& lessons) {
  int largest = 0;
  for (const LessonInfo& lesson : lessons) largest = std::max(largest, std::stoi(lesson.id));
  return fmt::format("{:02}", largest + 1);
}

/// What a text of the model says in the new lesson: its names and its number.
class Renaming {
 public:
  Renaming(const LessonInfo& model, const LessonInfo& lesson) : model_(model), lesson_(lesson) {}

  std::string operator()(std::string text) const {
    const auto replace = [&](const std::string& pattern, const std::string& by) {
      text = std::regex_replace(text, std::regex(pattern), by);
    };
    replace("\\b" + model_.folder() + "\\b", lesson_.folder());
    // A family of judges may have the name, too: it stays.
    const std::string family = "\x01";
    replace("\\b(judge/(?:\\w+/)+)" + model_.name + "\\b", "$1" + family);
    replace("\\b" + model_.name + "::", family + "::");
    replace("\\b" + model_.name + "\\b", lesson_.name);
    replace(family, model_.name);
    replace("\\blesson( ?)" + model_.id + "\\b", "lesson$01" + lesson_.id);  // $1 and a digit would be $10
    replace("\"" + model_.id + "\"", "\"" + lesson_.id + "\"");
    return text;
  }

 private:
  const LessonInfo& model_;
  const LessonInfo& lesson_;
};

/// The solution with nothing solved: within marks what the skeleton says stands twice, once as marks.
std::string unsolved(const std::string& solution) {
  static const std::regex mark(R"((\s*)//([>|<]) ?(.*))");
  std::string text, said;
  bool inside = false;
  for (const std::string& line : lines_of(solution)) {
    std::smatch parts;
    if (!std::regex_match(line, parts, mark)) {
      if (!inside) text += line + "\n";
      continue;
    }
    inside = parts[2] != "<";
    if (parts[2] == "|") said += parts[1].str() + parts[3].str() + "\n";
    text += line + "\n";
    if (!inside) {
      text.insert(text.size() - line.size() - 1, said);
      said.clear();
    }
  }
  return text;
}

/// The table of common mistakes, with a row for each that is known and nothing in its cells.
std::string empty_mistake_rows(const LessonInfo& lesson) {
  std::string table = "\n| What you see | What it is |\n| --- | --- |\n";
  for (const MistakeInfo& mistake : lesson.mistakes) table += fmt::format("| | <!-- {} --> |\n", mistake.id);
  return table;
}

std::string readme(const LessonInfo& lesson) {
  std::string text = "# " + lesson.name + "\n";
  for (const char* section : readme_sections) {
    text += fmt::format("\n## {}\n", section);
    if (std::string(section) == mistakes_section) text += empty_mistake_rows(lesson);
  }
  return text;
}

std::string hints(const LessonInfo& lesson) {
  std::string text = "# Hints\n";
  for (const TaskInfo& task : lesson.tasks) text += fmt::format("\n## Task {}\n", task.id);
  return text;
}

/// The registry with one more lesson, whose title and what it teaches are still to be written.
std::string with_lesson(const std::string& text, const LessonInfo& model, const LessonInfo& lesson) {
  auto entries = nlohmann::ordered_json::parse(text).at("lessons");
  auto entry = *std::ranges::find_if(entries, [&](const auto& one) { return one.at("id") == model.id; });
  entry["id"] = lesson.id;
  entry["name"] = lesson.name;
  entry["title"] = entry["teaches"] = "";
  entry["objectives"] = nlohmann::ordered_json::array();
  entry["files"] = lesson.files;
  entry["programs"] = nlohmann::ordered_json::array();
  entry.erase("role");
  for (const char* ring : {"ring", "ring_backward"}) {
    if (entry.contains(ring) && entry[ring] == model.name) entry[ring] = lesson.name;
  }
  std::string lines;
  for (const std::string& line : lines_of(entry.dump(2))) lines += "\n    " + line;
  const std::size_t end = text.rfind("\n  ]");
  if (end == std::string::npos)
    throw UsageError(std::string(registry_file) + " does not end with '  ]', before which a lesson is added");
  return text.substr(0, end) + "," + lines + text.substr(end);
}

}  // namespace

int new_lesson(const Checkout& checkout, const std::string& name, const std::string& role) {
  if (checkout.is_handout())
    throw Unavailable(checkout.root.string() + " is a handout itself; lessons are added to the whole course");
  if (!std::regex_match(name, std::regex("[a-z][a-z0-9_]*")))
    throw UsageError("'" + name + "' is no lesson's name; expected one like ring_attention");
  for (const LessonInfo& known : checkout.lessons) {
    if (known.name == name) throw UsageError("lesson " + known.id + " is called " + name + " already");
  }
  const LessonInfo& model = model_of(checkout.lessons, role);
  checkout.require_solution(model);
  LessonInfo lesson = model;
  lesson.id = next_id(checkout.lessons);
  lesson.name = name;
  lesson.files = {name + fs::path(model.files.front()).extension().string()};
  for (const char* folder : {"lessons", "solutions", "tests"}) {
    const fs::path path = fs::path(folder) / lesson.folder();
    if (fs::exists(checkout.root / path)) throw UsageError(path.string() + " is there already");
  }
  const std::string entries = with_lesson(read_text(checkout.root / registry_file), model, lesson);
  const Renaming renamed(model, lesson);
  const fs::path tests = fs::path("tests") / lesson.folder();
  const auto write = [&](const fs::path& path, const std::string& text) {
    write_text(checkout.root / path, text);
    fmt::print("  {}\n", path.string());
  };
  const auto text_of = [&](const fs::path& path) { return renamed(read_text(checkout.root / path)); };

  fmt::print("lesson {}, like lesson {}:\n", lesson.id, model.id);
  const std::string solution = unsolved(text_of(Checkout::solution_file(model, model.files.front())));
  const std::string header = name + ".hpp";
  write(Checkout::lesson_folder(lesson) / header,
        text_of(Checkout::lesson_folder(model) / (model.name + ".hpp")));
  write(Checkout::student_file(lesson, lesson.files.front()), skeleton_of(solution));
  write(Checkout::lesson_folder(lesson) / "README.md", readme(lesson));
  write(Checkout::lesson_folder(lesson) / "hints.md", hints(lesson));
  write(Checkout::solution_file(lesson, lesson.files.front()), solution);
  write(fs::path("solutions") / lesson.folder() / "why.md", "# Why the solution is as it is\n");
  for (const fs::directory_entry& file : fs::directory_iterator(checkout.root / "tests" / model.folder())) {
    const fs::path path = fs::path("tests") / model.folder() / file.path().filename();
    const std::string extension = path.extension();
    if (extension == ".cpp" || extension == ".hpp" || extension == ".cu")
      write(tests / path.filename(), text_of(path));
  }
  write(tests / "mistakes.md", without_forms(text_of(fs::path("tests") / model.folder() / "mistakes.md")));
  write(tests / "outcomes.tsv", "forms\n");  // ./course test --record fills it
  write(tests / "variants.md",
        fmt::format("# Variants of lesson {}: different answers, and right\n", lesson.id));
  write(registry_file, entries);
  fmt::print("What is still missing: ./course test --lesson {}\n", lesson.id);
  return succeeded;
}

}  // namespace course::program
