#include "grader/beside.hpp"

#include <fcntl.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "course/handout/git.hpp"
#include "course/handout/handout_content.hpp"
#include "course/terminal/terminal.hpp"
#include "grader/submission.hpp"
#include "registry/candidates_file.hpp"
#include "runner/descriptor.hpp"
#include "runner/temporary_folder.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"
#include "text/utf8.hpp"

namespace course::program::grader {

namespace fs = std::filesystem;

namespace {

using Names = std::set<std::string>;
const Names course_folders{"common", "lessons", "skeletons", "tests"};
const Names files_at_top{"CMakeLists.txt", "CMakePresets.json", "course"};
/// A file of the student's own with such a name looks as if the course were to compile it.
const Names source_extensions{".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".inc"};
constexpr std::size_t shown_edits = 10;

/// Text for readers, pictures and data: an edit of them promises nothing.
bool is_for_readers(const fs::path& path) {
  const std::string extension = path.extension();
  return extension == ".svg" || extension == ".npy" || extension == ".pyc" ||
         (extension == ".md" && path.filename() != "mistakes.md");
}

/// Where the course has what a handout has at a path, and how the one is made of the other.
struct Origin {
  fs::path source;
  std::function<std::string(const std::string&)> made = {};  ///< empty: as it is
};

Origin origin_of(const fs::path& path) {
  const std::vector<std::string> parts(path.begin(), path.end());
  if (path.filename() == "mistakes.md" && parts.size() == 3) return {path, without_forms};
  if (parts.front() == "skeletons")
    return {fs::path("solutions") / path.lexically_relative("skeletons"),
            [](const std::string& solution) { return skeleton_of(solution); }};
  return {path};
}

/// A handout's registry has some of the course's lessons.
bool is_part_of(const std::string& registry, const std::string& whole) {
  using Json = nlohmann::json;
  const Json part = Json::parse(registry, nullptr, false), all = Json::parse(whole, nullptr, false);
  if (!part.is_object() || !all.is_object() || !part.contains("lessons") || !part["lessons"].is_array())
    return false;
  return std::ranges::all_of(part["lessons"], [&](const Json& lesson) {
    return std::ranges::find(all["lessons"], lesson) != all["lessons"].end();
  });
}

bool is_registry(const fs::path& path) {
  return path == fs::path("lessons") / "registry.json";
}

/// Whether a text is what a handout made of this version of its origin has at the path.
bool is_made_of(const std::string& text, const fs::path& path, const std::string& version) {
  if (is_registry(path)) return is_part_of(text, version);
  const Origin origin = origin_of(path);
  try {
    return same_lines(text, origin.made ? origin.made(version) : version);
  } catch (const std::exception&) {
    return false;  // an old version that today's course cannot read
  }
}

/// The course's commits, asked whether a file of an older handout is among them.
class Past {
 public:
  explicit Past(const fs::path& root) : root_(root) {}

  /// Whether all commits of the course are here: not without git, nor in a clone that is cut off, nor where
  /// the course lies in a folder of another repository.
  bool is_known() const {
    const std::vector<std::string> answers =
        ask({"rev-parse", "--is-shallow-repository", "--show-prefix", "--verify", "HEAD"});
    return answers.size() == 3 && answers[0] == "false" && answers[1].empty();
  }

  /// Of these files those that no commit has; each is a path and its text.
  std::vector<std::string> unknown(const std::map<std::string, std::string>& files) const {
    const std::set<std::string> known_ids = known(files);
    std::vector<std::string> paths;
    for (const auto& [path, text] : files) {
      if (!known_ids.contains(path) && !was_made_of_some_version(path, text)) paths.push_back(path);
    }
    return paths;
  }

 private:
  /// What git answers, with a file for its input; without the warnings that it may print beside.
  Captured answer_to(std::vector<std::string> arguments, const fs::path& input = "/dev/null") const {
    arguments.insert(arguments.begin(), {"-c", "safe.directory=*"});
    Command command = git_command(root_, arguments);
    command.argv.insert(command.argv.begin(),
                        {"sh", "-c", R"(file=$1; shift; exec "$@" <"$file" 2>/dev/null)", "sh", input});
    return capture(command);
  }

  std::vector<std::string> ask(const std::vector<std::string>& arguments,
                               const fs::path& input = "/dev/null") const {
    const Captured said = answer_to(arguments, input);
    return said.exit.code == 0 ? lines_of(said.output) : std::vector<std::string>{};
  }

  /// Those whose content git has as it is.
  std::set<std::string> known(const std::map<std::string, std::string>& files) const {
    const TemporaryFolder temporary;
    std::vector<std::string> question{"hash-object", "--no-filters"};
    for (const auto& [path, text] : files) {
      question.push_back(temporary.path() / std::to_string(question.size()));
      write_text(question.back(), with_unix_lines(text));
    }
    const std::vector<std::string> ids = ask(question);
    write_text(temporary.path() / "ids", joined(ids, {}, "\n") + "\n");
    const std::vector<std::string> answers = ask({"cat-file", "--batch-check"}, temporary.path() / "ids");
    std::set<std::string> paths;
    if (ids.size() != files.size() || answers.size() != ids.size()) return paths;
    auto answer = answers.begin();
    for (const auto& [path, text] : files) {
      if (!(answer++)->ends_with(" missing")) paths.insert(path);
    }
    return paths;
  }

  bool was_made_of_some_version(const fs::path& path, const std::string& text) const {
    const Origin origin = origin_of(path);
    if (!origin.made && !is_registry(path)) return false;
    const std::string source = origin.source.generic_string();
    return std::ranges::any_of(ask({"log", "--format=%H", "--", source}), [&](const std::string& commit) {
      const Captured version = answer_to({"show", commit + ":" + source});
      return version.exit.code == 0 && is_made_of(text, path, version.output);
    });
  }

  fs::path root_;
};

/// Adds the answers at a submission's top that differ from those in their lessons' folders, which are graded.
void add_second_answers(const Descriptor& top, const std::vector<LessonInfo>& lessons,
                        std::map<std::string, std::string>& others) {
  for (const LessonInfo& lesson : lessons) {
    for (const std::string& file : lesson.files) {
      try {
        const std::optional<std::string> graded = read_below(top, Checkout::student_file(lesson, file)),
                                         second = read_below(top, file);
        if (graded && second && !same_lines(*graded, *second)) others[file] = *second;
      } catch (const NotTaken&) {
        continue;
      }
    }
  }
}

}  // namespace

Edits edits_beside(const Checkout& checkout, const fs::path& folder) {
  if (fs::equivalent(folder, checkout.root)) return {};
  const Descriptor top(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::map<std::string, std::string> others;  // than today's, by path
  for (const fs::path& path : files_below(folder)) {
    const bool at_top = std::next(path.begin()) == path.end();
    if (at_top ? !files_at_top.contains(path) : !course_folders.contains(*path.begin())) continue;
    if (is_answer(path, checkout.lessons) || is_for_readers(path)) continue;
    const fs::path source = checkout.root / origin_of(path).source;
    const bool is_courses = fs::is_regular_file(source);
    if (!is_courses && !source_extensions.contains(path.extension())) continue;
    std::string text;
    try {
      text = read_below(top, path).value_or("");
    } catch (const NotTaken&) {
      continue;
    }
    if (!is_courses || !is_made_of(text, path, read_text(source))) others[path.generic_string()] = text;
  }
  add_second_answers(top, checkout.lessons, others);
  if (others.empty()) return {};
  const Past past(checkout.root);
  if (past.is_known()) return {past.unknown(others), true};
  Edits different{{}, false};
  for (const auto& [path, text] : others) different.paths.push_back(path);
  return different;
}

std::string edits_in_words(const Edits& edits) {
  std::vector<std::string> shown = edits.paths;
  shown.resize(std::min(shown.size(), shown_edits));
  for (std::string& path : shown) path = clean_utf8(path);
  std::string text = edits.are_certain ? "edited beside the answer, without effect: "
                                       : "differs from today's course, without effect: ";
  text += joined(shown);
  if (edits.paths.size() > shown_edits)
    text += " and " + std::to_string(edits.paths.size() - shown_edits) + " more";
  return text;
}

}  // namespace course::program::grader
