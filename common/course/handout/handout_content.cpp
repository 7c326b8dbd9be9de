#include "course/handout/handout_content.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "course/handout/handout_pages.hpp"
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

/// What lessons from this one on are given, and earlier ones ask for.
constexpr const char* plumbing = "common/ring/hop.hpp";
constexpr const char* first_with_plumbing = "15";

constexpr const char* readme = "README.md";

const fs::path interview_bank = fs::path("docs") / "interview";

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

/// Of the pages of the interview bank what belongs to these lessons. Its sheet has answers of all of them,
/// and goes out with all alone; so do the parts of other pages that send a reader to it.
void write_interview(const Checkout& course, const std::vector<LessonInfo>& lessons, const fs::path& folder) {
  for (const fs::path& page : files_below(course.root / interview_bank)) {
    if (page.extension() != ".md" || page == readme) continue;
    const std::optional<std::string> kept =
        with_questions_of(read_text(course.root / interview_bank / page), lessons);
    if (kept)
      write_text(folder / interview_bank / page, *kept);
    else
      fs::remove(folder / interview_bank / page);
  }
  if (lessons.size() < course.lessons.size()) fs::remove_all(folder / interview_bank / "sheet");
}

/// Pages without their parts on what is not handed out. Their commands are on lessons that are; a lesson's
/// own page names its lesson's.
void cut_pages(const Checkout& course, const std::vector<LessonInfo>& lessons, const fs::path& folder) {
  for (const fs::path& file : files_below(folder)) {
    const bool is_lessons = file.filename() == readme && *file.begin() == "lessons";
    if (file.extension() != ".md" || (file != readme && *file.begin() != "docs" && !is_lessons)) continue;
    const std::string cut = without_instructors_parts(file.string(), read_text(folder / file), lessons);
    write_text(folder / file, is_lessons ? cut : with_held_lessons(cut, course.lessons, lessons));
  }
}

/// Pages do not link to what is not here.
void mend_links(const fs::path& folder) {
  for (const fs::path& file : files_below(folder)) {
    if (file.extension() != ".md" || *file.begin() == ".git") continue;
    const fs::path beside = (folder / file).parent_path();
    const auto exists = [&](const std::string& target) { return fs::exists(beside / target); };
    const std::string page = read_text(folder / file);
    const bool has_table = file.filename() == readme && *file.begin() != "lessons";
    const std::string mended =
        without_dead_links(has_table ? without_dead_items(page, exists) : page, exists);
    if (mended != page) write_text(folder / file, mended);
  }
}

}  // namespace

bool is_answer(const fs::path& file, const std::vector<LessonInfo>& lessons) {
  return std::ranges::any_of(lessons, [&](const LessonInfo& lesson) {
    return file.parent_path() == Checkout::lesson_folder(lesson) &&
           (is_one_of(lesson.files, file.filename().string()) || file.filename() == lesson.name + ".py");
  });
}

bool goes_along(const fs::path& file, const std::vector<LessonInfo>& lessons) {
  const std::vector<std::string> parts(file.begin(), file.end());
  if (parts[0] == "common" && is_one_of(parts, hidden_folder)) return false;
  if (file == plumbing)
    return std::ranges::any_of(lessons,
                               [](const LessonInfo& lesson) { return lesson.id >= first_with_plumbing; });
  if (parts.size() == 1 || parts[0] == "common" || is_one_of(editor_folders, parts[0])) return true;
  if (parts[0] == "docs") return !is_one_of(instructors_pages, file.string());
  if (parts[0] == "lessons") return is_lesson_folder(parts[1], lessons) && !is_answer(file, lessons);
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
  cut_pages(course, lessons, folder);
  write_interview(course, lessons, folder);
  mend_links(folder);
  const fs::path table = folder / interview_bank / readme;
  if (fs::exists(table)) write_text(table, with_questions_counted(read_text(table), folder / interview_bank));
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
