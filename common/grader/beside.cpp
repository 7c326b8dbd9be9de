#include "grader/beside.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "course/handout/git.hpp"
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

constexpr std::array folders{"common", "lessons", "skeletons", "tests"};
constexpr std::array files_at_top{"CMakeLists.txt", "CMakePresets.json", "course"};
/// A file of the student's own with such a name looks as if the course were to compile it.
constexpr std::array sources{".c", ".cc", ".cpp", ".cu", ".cuh", ".h", ".hpp", ".inc"};
constexpr std::size_t shown_edits = 10;

template <class Names>
bool is_one_of(const Names& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Text for readers, pictures and data: an edit of them promises nothing.
bool is_for_readers(const fs::path& path) {
  const std::string extension = path.extension();
  return extension == ".svg" || extension == ".npy" || extension == ".pyc" ||
         (extension == ".md" && path.filename() != "mistakes.md");
}

/// What students edit; a lesson's answer in Python is no file of its registry.
bool is_answer(const Checkout& checkout, const fs::path& path) {
  return std::ranges::any_of(checkout.lessons, [&](const LessonInfo& lesson) {
    return path.parent_path() == Checkout::lesson_folder(lesson) &&
           (is_one_of(lesson.files, path.filename()) || path.filename() == lesson.name + ".py");
  });
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
  std::vector<std::string> ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"-c", "safe.directory=*"});
    const Captured said = ask_git(root_, arguments);
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
    Command check = git_command(root_, {"-c", "safe.directory=*", "cat-file", "--batch-check"});
    check.argv.insert(check.argv.begin(),
                      {"sh", "-c", R"(file=$1; shift; exec "$@" <"$file")", "sh", temporary.path() / "ids"});
    const std::vector<std::string> answers = lines_of(capture(check).output);
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
      const Captured version = ask_git(root_, {"-c", "safe.directory=*", "show", commit + ":" + source});
      return version.exit.code == 0 && is_made_of(text, path, version.output);
    });
  }

  fs::path root_;
};

}  // namespace

std::vector<std::string> edits_beside(const Checkout& checkout, const fs::path& folder) {
  if (fs::equivalent(folder, checkout.root)) return {};
  const Descriptor top(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> edits;
  std::map<std::string, std::string> others;  // than today's, by path
  for (const fs::path& path : files_below(folder)) {
    const bool at_top = std::next(path.begin()) == path.end();
    if (at_top ? !is_one_of(files_at_top, path.string()) : !is_one_of(folders, path.begin()->string()))
      continue;
    if (is_answer(checkout, path) || is_for_readers(path)) continue;
    const fs::path source = checkout.root / origin_of(path).source;
    const bool is_courses = fs::is_regular_file(source);
    if (!is_courses && !is_one_of(sources, path.extension().string())) continue;
    std::string text;
    try {
      text = read_below(top, path).value_or("");
    } catch (const NotTaken&) {
      continue;
    }
    if (!is_courses || !is_made_of(text, path, read_text(source))) others[path.generic_string()] = text;
  }
  return others.empty() ? edits : Past(checkout.root).unknown(others);
}

std::string edits_in_words(const std::vector<std::string>& edits) {
  std::vector<std::string> shown(
      edits.begin(), edits.begin() + static_cast<std::ptrdiff_t>(std::min(edits.size(), shown_edits)));
  for (std::string& path : shown) path = clean_utf8(path);
  std::string text = "edited beside the answer, without effect: " + joined(shown);
  if (edits.size() > shown_edits) text += " and " + std::to_string(edits.size() - shown_edits) + " more";
  return text;
}

}  // namespace course::program::grader
