#include "course/handout/handout_content.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <regex>

#include "protocol/errors.hpp"
#include "registry/candidates_file.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// The tools' own tests, which hold no solution. A folder that is not named here stays with the instructor.
constexpr std::array tool_tests{"bench", "common", "course", "demo"};

/// What the editors read, and the container that they open.
constexpr std::array editor_folders{".devcontainer", ".vscode"};

/// Pages for those who teach and write lessons.
constexpr std::array instructors_pages{"docs/instructor.md", "docs/adding-a-lesson.md",
                                       "docs/contributing.md"};

/// A lesson's further examples, and the folders for those of families of tasks (common/judge/FOLDER/hidden),
/// which judges are built with where they are.
constexpr const char* hidden_examples = "hidden.cpp";
constexpr const char* hidden_folder = "hidden";

template <class Names>
bool is_one_of(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_lesson_folder(const std::string& name, const std::vector<LessonInfo>& lessons) {
  return std::ranges::find(lessons, name, &LessonInfo::folder) != lessons.end();
}

/// Other right answers, and mistakes with the edits that make them, which are cut (without_forms).
constexpr const char* variants_file = "variants.md";
constexpr const char* mistakes_file = "mistakes.md";

/// Of a lesson's tests what its judge and player are built from, and of what all lessons share, mistakes.md.
bool goes_along_from_tests(const std::vector<std::string>& parts, const std::vector<LessonInfo>& lessons) {
  if (parts.size() == 2) return parts[1] == "CMakeLists.txt" || parts[1] == mistakes_file;
  if (is_one_of(tool_tests, parts[1])) return true;
  return parts.size() == 3 && is_lesson_folder(parts[1], lessons) && parts[2] != hidden_examples &&
         parts[2] != variants_file;
}

bool is_edited(const fs::path& file, const std::vector<LessonInfo>& lessons) {
  return std::ranges::any_of(lessons, [&](const LessonInfo& lesson) {
    return file.parent_path() == Checkout::lesson_folder(lesson) &&
           (is_one_of(lesson.files, file.filename().string()) || file.filename() == lesson.name + ".py");
  });
}

/// The files of a folder, from it.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_directory()) files.push_back(fs::relative(entry.path(), folder));
  }
  return files;
}

void copy_to(const fs::path& from, const fs::path& to) {
  fs::create_directories(to.parent_path());
  fs::copy(from, to, fs::copy_options::copy_symlinks);
}

/// Cut from the solution, twice: the file to edit, and the copy that reset and the tests read.
void write_skeletons(const Checkout& course, const LessonInfo& lesson, const fs::path& folder) {
  for (const std::string& file : course.files_with_skeleton(lesson)) {
    const std::optional<std::string> skeleton = course.skeleton(lesson, file);
    if (!skeleton) {
      throw Unavailable("lesson " + lesson.id + " cannot be handed out: there is no committed " +
                        Checkout::solution_file(lesson, file).string() + " to cut its skeleton from");
    }
    write_text(folder / Checkout::student_file(lesson, file), *skeleton);
    write_text(folder / Checkout::kept_skeleton(lesson, file), *skeleton);
  }
}

bool starts_item(const std::string& line) {
  return line.starts_with("|") || line.starts_with("- ") || line.starts_with("![");
}

/// A row that is a title for those below it.
bool is_title(const std::string& row) {
  return row.starts_with("| | **");
}

std::string without_empty_titles(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string next = i + 1 < lines.size() ? lines[i + 1] : "";
    const bool is_empty = is_title(lines[i]) && (!next.starts_with("|") || is_title(next));
    if (!is_empty) text += lines[i] + "\n";
  }
  return text;
}

}  // namespace

bool goes_along(const fs::path& file, const std::vector<LessonInfo>& lessons) {
  const std::vector<std::string> parts(file.begin(), file.end());
  if (parts[0] == "common" && is_one_of(parts, hidden_folder)) return false;
  if (parts.size() == 1 || parts[0] == "common" || is_one_of(editor_folders, parts[0])) return true;
  if (parts[0] == "docs") return !is_one_of(instructors_pages, file.string());
  if (parts[0] == "lessons") return is_lesson_folder(parts[1], lessons) && !is_edited(file, lessons);
  return parts[0] == "tests" && goes_along_from_tests(parts, lessons);
}

std::string registry_text(const std::string& whole, const std::vector<LessonInfo>& lessons) {
  nlohmann::ordered_json registry = nlohmann::ordered_json::parse(whole);
  auto kept = nlohmann::ordered_json::array();
  for (const nlohmann::ordered_json& entry : registry.at("lessons")) {
    if (std::ranges::find(lessons, entry.at("id").get<std::string>(), &LessonInfo::id) != lessons.end())
      kept.push_back(entry);
  }
  registry["lessons"] = kept;
  return registry.dump(2) + "\n";
}

std::string without_instructors_parts(const std::string& readme) {
  std::string text;
  bool leaving_out = false;
  for (const std::string& line : lines_of(readme)) {
    if (const bool begins = line == "<!-- not in a handout -->";
        begins || line == "<!-- in a handout, too -->") {
      if (begins == leaving_out)
        throw std::invalid_argument("README.md: " + line + " stands without its other");
      leaving_out = begins;
    } else if (!leaving_out) {
      text += line + "\n";
    }
  }
  if (leaving_out)
    throw std::invalid_argument("README.md: <!-- not in a handout --> stands without its other");
  return text;
}

std::string without_dead_items(const std::string& readme,
                               const std::function<bool(const std::string&)>& exists) {
  static const std::regex link(R"(\]\(([^)#:]+)(#[^)]*)?\))");
  std::vector<std::string> kept;
  bool leaving_out = false;
  for (const std::string& line : lines_of(readme)) {
    const bool continues_item = line.starts_with("  ");  // as those of an item after its first
    if (!leaving_out || !continues_item) {
      leaving_out = false;
      for (std::sregex_iterator found(line.begin(), line.end(), link), end; found != end; ++found)
        leaving_out = leaving_out || (starts_item(line) && !exists((*found)[1]));
    }
    if (!leaving_out) kept.push_back(line);
  }
  return without_empty_titles(kept);
}

void write_handout(const Checkout& course, const std::vector<LessonInfo>& lessons, const fs::path& folder) {
  for (const fs::path& file : files_below(course.root)) {
    if (goes_along(file, lessons)) copy_to(course.root / file, folder / file);
  }
  for (const LessonInfo& lesson : lessons) {
    write_skeletons(course, lesson, folder);
    const fs::path path = fs::path("tests") / lesson.folder() / mistakes_file;
    write_text(folder / path, without_forms(read_text(course.root / path)));
  }
  const fs::path registry = fs::path("lessons") / "registry.json";
  write_text(folder / registry, registry_text(read_text(course.root / registry), lessons));
  const auto exists = [&](const std::string& target) { return fs::exists(folder / target); };
  write_text(folder / "README.md",
             without_dead_items(without_instructors_parts(read_text(course.root / "README.md")), exists));
}

void write_solution(const Checkout& course, const LessonInfo& lesson, const fs::path& folder) {
  const fs::path solution = fs::path("solutions") / lesson.folder();
  if (!fs::exists(course.root / solution)) {
    throw Unavailable("lesson " + lesson.id + " cannot be released: there is no committed " +
                      solution.string());
  }
  fs::remove_all(folder / solution);
  for (const fs::path& file : files_below(course.root / solution))
    copy_to(course.root / solution / file, folder / solution / file);
}

}  // namespace course::program
