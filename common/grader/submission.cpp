#include "grader/submission.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <stdexcept>
#include <system_error>

#include "runner/descriptor.hpp"
#include "text/text_file.hpp"

namespace course::program::grader {

namespace fs = std::filesystem;

namespace {

constexpr off_t largest_file = 1 << 20;

/// A file that is there and is not taken.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string read_all(const Descriptor& file, const fs::path& name) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    throw Refused(name.string() + " is not a regular file");
  }
  if (status.st_size > largest_file) {
    throw Refused(
        fmt::format("{} has {} bytes, at most {} are taken", name.string(), status.st_size, largest_file));
  }
  return read_text("/proc/self/fd/" + std::to_string(file.get()));
}

/// The file at a path below `folder`; nullopt when there is none.
std::optional<std::string> read_below(const Descriptor& folder, const fs::path& path) {
  const Descriptor file = open_beneath(folder, path);
  if (file.get() >= 0) return read_all(file, path);
  if (errno == ENOENT) return std::nullopt;
  if (errno == ELOOP || errno == ENOTDIR) throw Refused(path.string() + " is or goes through a link");
  throw Refused(path.string() + " cannot be opened: " + std::generic_category().message(errno));
}

}  // namespace

HandedIn take(const fs::path& folder, const LessonInfo& lesson) {
  const Descriptor top(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (top.get() < 0) {
    throw std::runtime_error("the submission " + folder.string() +
                             " cannot be opened: " + std::generic_category().message(errno));
  }
  HandedIn taken;
  for (const std::string& file : lesson.files) {
    try {
      std::optional<std::string> text = read_below(top, fs::path("lessons") / lesson.folder() / file);
      if (!text) text = read_below(top, file);
      if (text) {
        taken.texts[file] = *text;
      } else {
        taken.missing.push_back(file);
      }
    } catch (const Refused& refused) {
      taken.refusal = refused.what();
    }
  }
  return taken;
}

std::string files_hash(const fs::path& folder, const std::vector<LessonInfo>& lessons) {
  std::vector<std::string> texts;
  for (const LessonInfo& lesson : lessons) {
    const HandedIn handed_in = take(folder, lesson);
    texts.push_back(lesson.id + handed_in.refusal);
    for (const auto& [file, text] : handed_in.texts) texts.push_back(file + "\n" + text);
  }
  return content_hash(texts);
}

}  // namespace course::program::grader
