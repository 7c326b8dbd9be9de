#include "course/handout/handout_repository.hpp"

#include <unistd.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "course/handout/git.hpp"
#include "protocol/errors.hpp"
#include "runner/interruption.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// A folder beside `folder`, so that it can be renamed to it, which goes away unless it was.
class PlaceBeside {
 public:
  explicit PlaceBeside(const fs::path& folder)
      : path_(folder.parent_path() /
              ("." + folder.filename().string() + ".part" + std::to_string(getpid()))) {
    fs::create_directory(path_);
  }
  ~PlaceBeside() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  PlaceBeside(const PlaceBeside&) = delete;
  PlaceBeside& operator=(const PlaceBeside&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void write_number(const fs::path& place, int number) {
  write_text(place / handout_file, nlohmann::json{{"update", number}}.dump() + "\n");
}

void commit(const fs::path& place, int number, const std::string& message) {
  write_number(place, number);
  git(place, {"add", "--all", "--force", "."});
  git(place, {"commit", "--quiet", "--message", "Update " + std::to_string(number) + ": " + message});
  stop_if_interrupted();
}

/// A path's last part, also where it was written with a slash at its end.
fs::path plain_path(const fs::path& folder) {
  const fs::path path = fs::weakly_canonical(fs::absolute(folder));
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

CommittedCourse::CommittedCourse(const Checkout& checkout) {
  const Captured head = ask_git(checkout.root, {"rev-parse", "--short", "HEAD"});
  if (head.exit.code != 0) {
    throw Unavailable("what is handed out is what is committed, and git knows no commit in " +
                      checkout.root.string());
  }
  commit_ = head.first_line();
  const fs::path archive = folder_.path() / "course.tar";
  git(checkout.root, {"archive", "--format=tar", "--output=" + archive.string(), "HEAD"});
  stop_if_interrupted();
  course_.root = folder_.path() / "course";
  fs::create_directory(course_.root);
  const Captured unpacked = capture({.argv = {"tar", "-xf", archive}, .folder = course_.root});
  if (unpacked.exit.code != 0) throw std::runtime_error("tar failed: " + unpacked.output);
  if (course_.is_handout())
    throw Unavailable(checkout.root.string() + " is a handout itself; handouts are made of the whole course");
  course_.lessons = read_registry(course_.root / "lessons" / "registry.json");
}

HandoutRepository::HandoutRepository(const fs::path& folder) : folder_(plain_path(folder)) {
  if (!fs::is_directory(folder_.parent_path()))
    throw UsageError("there is no folder " + folder_.parent_path().string() + " to make a handout in");
  if (!fs::exists(folder_)) return;
  if (!fs::is_directory(folder_)) throw UsageError(folder_.string() + " is a file; a handout is a folder");
  if (fs::is_empty(folder_)) return;
  if (fs::exists(folder_ / ".git") && fs::exists(folder_ / handout_file)) look_at_last_update();
  if (last_.empty()) {
    throw UsageError(folder_.string() +
                     " is neither empty nor an earlier handout with its git history: choose another folder");
  }
}

void HandoutRepository::look_at_last_update() {
  const Captured found = ask_git(folder_, {"log", "-1", "--format=%H", "--", handout_file});
  if (found.exit.code != 0 || found.output.empty()) return;
  last_ = found.first_line();
  const auto registry = nlohmann::json::parse(git(folder_, {"show", last_ + ":lessons/registry.json"}));
  for (const nlohmann::json& lesson : registry.at("lessons"))
    lessons_.insert(lesson.at("id").get<std::string>());
  for (const std::string& path : lines_of(git(folder_, {"ls-tree", "--name-only", last_, "solutions/"})))
    released_.insert(fs::path(path).filename());
}

int HandoutRepository::publish(const Change& change, const std::string& message) {
  if (!is_new()) return publish_next(change, message);
  publish_first(change, message);
  return 1;
}

void HandoutRepository::publish_first(const Change& change, const std::string& message) const {
  const PlaceBeside place(folder_);
  git(place.path(), {"init", "--quiet", "--initial-branch=main", "--template="});
  change(place.path());
  commit(place.path(), 1, message);
  fs::rename(place.path(), folder_);
}

int HandoutRepository::publish_next(const Change& change, const std::string& message) const {
  const TemporaryFolder temporary;
  const fs::path place = temporary.path() / "handout";
  git(temporary.path(), {"clone", "--quiet", "--no-checkout", folder_, place});
  git(place, {"checkout", "--quiet", "--detach", last_});
  const int number = nlohmann::json::parse(read_text(place / handout_file)).at("update");
  change(place);
  write_number(place, number);
  git(place, {"add", "--all", "--force", "."});
  if (ask_git(place, {"diff", "--cached", "--quiet"}).exit.code == 0) return 0;
  commit(place, number + 1, message);
  merge(place, number + 1);
  return number + 1;
}

void HandoutRepository::merge(const fs::path& place, int number) const {
  git(folder_, {"fetch", "--quiet", place, "HEAD"});
  const Captured said =
      ask_git(folder_, {"merge", "--quiet", "-m", "Merge update " + std::to_string(number), "FETCH_HEAD"});
  if (said.exit.code == 0) return;
  ask_git(folder_, {"merge", "--abort"});
  throw std::runtime_error("the update contradicts what was changed in " + folder_.string() +
                           ", which stays as it was. Commit or undo that there first; git says:\n" +
                           said.output);
}

}  // namespace course::program
