#include "grader/submission.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <system_error>

#include "course/workspace/checkout.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {

namespace fs = std::filesystem;

namespace {

constexpr off_t largest_file = 1 << 20;
constexpr int most_entries = 20'000;
constexpr int deepest = 10;
constexpr std::size_t shown_places = 3;

std::string read_all(const Descriptor& file, const fs::path& name) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw NotTaken(name.string() + " is not a regular file");
  }
  if (status.st_size > largest_file) {
    throw NotTaken(
        fmt::format("{} has {} bytes, at most {} are taken", name.string(), status.st_size, largest_file));
  }
  return read_text("/proc/self/fd/" + std::to_string(file.get()));
}

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

/// Whether a name has the file's in it, as "Safe_Softmax.cpp", "safe_softmax (1).cpp", "ada_safe_softmax.cpp"
/// and "safe_softmax.cpp.txt" have.
bool is_like(const std::string& name, const fs::path& file) {
  const std::string small = in_small_letters(name);
  const std::size_t stem = small.find(in_small_letters(file.stem()));
  return stem != std::string::npos && small.find(file.extension(), stem) != std::string::npos;
}

/// Whether a path is a copy of what students were given, as a submission of the whole handout has.
bool came_with_the_course(const fs::path& path, const fs::path& root) {
  if (*path.begin() != "lessons" && fs::exists(root / path)) return true;
  return std::ranges::any_of(path,
                             [](const fs::path& part) { return part == "skeletons" || part == "solutions"; });
}

/// The file's text; nothing where there is none, or one that is not taken.
std::optional<std::string> text_or_none(const Descriptor& top, const fs::path& path) {
  try {
    return read_below(top, path);
  } catch (const NotTaken&) {
    return std::nullopt;
  }
}

/// Whether the file is nothing but the skeleton. One that is not read is something else.
bool is_copy(const Descriptor& top, const fs::path& path, const std::optional<std::string>& skeleton) {
  const std::optional<std::string> text = text_or_none(top, path);
  return skeleton && text && same_code(*text, *skeleton);
}

}  // namespace

std::optional<std::string> read_below(const Descriptor& folder, const fs::path& path) {
  const Descriptor file = open_beneath(folder, path);
  if (file.get() >= 0) return read_all(file, path);
  if (errno == ENOENT) return std::nullopt;
  if (errno == ELOOP || errno == ENOTDIR) throw NotTaken(path.string() + " is or goes through a link");
  throw NotTaken(path.string() + " cannot be opened: " + std::generic_category().message(errno));
}

std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  int seen = 0;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied, error), end;
  for (; !error && entry != end && seen < most_entries; entry.increment(error), ++seen) {
    const fs::file_status status = entry->symlink_status(error);
    const std::string name = entry->path().filename();
    const bool made = name.starts_with('.') || (name == "build" && entry.depth() == 0);
    if (fs::is_directory(status) && (made || entry.depth() >= deepest)) entry.disable_recursion_pending();
    if (fs::is_regular_file(status)) files.push_back(entry->path().lexically_relative(folder));
  }
  std::ranges::sort(files);
  return files;
}

HandedIn take(const fs::path& folder, const LessonInfo& lesson) {
  const Descriptor top(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (top.get() < 0) {
    throw std::runtime_error("the submission " + folder.string() +
                             " cannot be opened: " + std::generic_category().message(errno));
  }
  HandedIn taken;
  for (const std::string& file : lesson.files) {
    try {
      for (const fs::path& place : {Checkout::student_file(lesson, file), fs::path(file)}) {
        const std::optional<std::string> text = read_below(top, place);
        if (!text) continue;
        taken.texts[file] = *text;
        taken.places[file] = place;
        break;
      }
      if (!taken.texts.contains(file)) taken.missing.push_back(file);
    } catch (const NotTaken& refused) {
      taken.refusal = refused.what();
    }
  }
  return taken;
}

std::string found_elsewhere(const fs::path& folder, const fs::path& root, const LessonInfo& lesson,
                            const std::string& file, const std::optional<std::string>& skeleton) {
  const Descriptor top(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> found;
  for (const fs::path& path : files_below(folder)) {
    if (!came_with_the_course(path, root) && is_like(path.filename(), file) && !is_copy(top, path, skeleton))
      found.push_back(path);
  }
  if (found.empty()) return "";
  const std::string more =
      found.size() > shown_places ? fmt::format(" and {} more", found.size() - shown_places) : "";
  found.resize(std::min(found.size(), shown_places));
  return fmt::format("{}, found at {}{}: move it to {}", file, fmt::join(found, ", "), more,
                     Checkout::student_file(lesson, file).string());
}

std::string answered_in_python(const fs::path& folder, const fs::path& root, const LessonInfo& lesson,
                               const std::string& file) {
  const Descriptor top(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const fs::path name = fs::path(file).replace_extension(".py");
  const fs::path skeleton = root / Checkout::student_file(lesson, name);
  for (const fs::path& place : {Checkout::student_file(lesson, name), name}) {
    const std::optional<std::string> text = text_or_none(top, place);
    if (text && !(fs::exists(skeleton) && same_lines(*text, read_text(skeleton))))
      return "a " + name.string() + " is there: Python answers are checked and not graded";
  }
  return "";
}

std::string where_it_was_looked_for(const fs::path& folder, const fs::path& root, const LessonInfo& lesson,
                                    const std::string& file) {
  const std::string found = found_elsewhere(folder, root, lesson, file, std::nullopt);
  if (!found.empty()) return found;
  const std::string python = answered_in_python(folder, root, lesson, file);
  return fmt::format("{}, looked for at {} and at the top of the submission{}", file,
                     Checkout::student_file(lesson, file).string(), python.empty() ? "" : "; " + python);
}

std::string files_hash(const HandedIn& handed_in) {
  std::vector<std::string> texts{handed_in.refusal};
  for (const auto& [file, text] : handed_in.texts) texts.push_back(file + "\n" + text);
  return content_hash(texts);
}

std::string with_unix_lines(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') result += text[i];
  }
  return result;
}

bool same_lines(const std::string& one, const std::string& other) {
  return with_unix_lines(one) == with_unix_lines(other);
}

}  // namespace course::program::grader
