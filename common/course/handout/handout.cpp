#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "course/commands/commands.hpp"
#include "course/handout/git.hpp"
#include "course/handout/handout_content.hpp"
#include "course/handout/handout_pages.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// The last commit of the instructor's checkout, unpacked into a folder that goes away. What lies uncommitted
/// in the working tree, a student's own answers among it, is not there.
struct CommittedCourse {
  /// Throws Unavailable when the checkout has no git history, or is a handout.
  explicit CommittedCourse(const Checkout& checkout) {
    const Captured head = ask_git(checkout.root, {"rev-parse", "--short", "HEAD"});
    if (head.exit.code != 0) {
      throw Unavailable("what is handed out is what is committed, and git knows no commit in " +
                        checkout.root.string());
    }
    commit = head.first_line();
    const fs::path archive = folder.path() / "course.tar";
    git(checkout.root,
        {"-c", "tar.umask=022", "archive", "--format=tar", "--output=" + archive.string(), "HEAD"});
    stop_if_interrupted();
    course.root = folder.path() / "course";
    fs::create_directory(course.root);
    const Captured unpacked = capture({.argv = {"tar", "-xf", archive}, .folder = course.root});
    if (unpacked.exit.code != 0) throw std::runtime_error("tar failed: " + unpacked.output);
    if (course.is_handout()) {
      throw Unavailable(checkout.root.string() +
                        " is a handout itself; handouts are made of the whole course");
    }
    course.lessons = read_registry(course.root / "lessons" / "registry.json");
  }

  TemporaryFolder folder;
  Checkout course;
  std::string commit;  ///< its abbreviated name
};

/// A folder beside `folder`, so that it can be renamed to it, which goes away unless it was.
struct PlaceBeside {
  explicit PlaceBeside(const fs::path& folder)
      : path(folder.parent_path() / ("." + folder.filename().string() + ".part" + std::to_string(getpid()))) {
    fs::create_directory(path);
  }
  ~PlaceBeside() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  PlaceBeside(const PlaceBeside&) = delete;
  PlaceBeside& operator=(const PlaceBeside&) = delete;

  const fs::path path;
};

/// A path's last part, also where it was written with a slash at its end.
fs::path plain_path(const fs::path& folder) {
  const fs::path path = fs::weakly_canonical(fs::absolute(folder));
  return path.has_filename() ? path : path.parent_path();
}

/// Makes the folder's files the next update, unless they are those of the last one, whose number this is;
/// returns whether they are not.
bool commit(const fs::path& place, int last, const std::string& message) {
  const auto add_as = [&](int number) {
    write_text(place / handout_file, nlohmann::json{{"update", number}}.dump() + "\n");
    git(place, {"add", "--all", "--force", "."});
  };
  add_as(last);
  if (last > 0 && ask_git(place, {"diff", "--cached", "--quiet"}).exit.code == 0) return false;
  add_as(last + 1);
  git(place, {"commit", "--quiet", "--message", fmt::format("Update {}: {}", last + 1, message)});
  stop_if_interrupted();
  return true;
}

/// A handout: a git repository of its own in which every handout and every release is a commit on top of the
/// one before, so that students pull them.
class HandoutRepository {
 public:
  /// What is written from here on may be read by everybody and written by its owner, whatever this user's
  /// mask is: students clone it. Throws UsageError where `folder` is neither an earlier handout nor free to
  /// become one.
  explicit HandoutRepository(const fs::path& folder) : folder_(plain_path(folder)) {
    umask(S_IWGRP | S_IWOTH);
    if (!fs::is_directory(folder_.parent_path()))
      throw UsageError("there is no folder " + folder_.parent_path().string() + " to make a handout in");
    if (!fs::exists(folder_)) return;
    if (!fs::is_directory(folder_)) throw UsageError(folder_.string() + " is a file; a handout is a folder");
    if (fs::is_empty(folder_)) return;
    if (fs::exists(folder_ / ".git") && fs::exists(folder_ / handout_file)) look_at_last_update();
    if (last_.empty()) {
      throw UsageError(
          folder_.string() +
          " is neither empty nor an earlier handout with its git history: choose another folder");
    }
  }

  bool is_new() const { return last_.empty(); }

  /// What the last update holds: ids of lessons, and the folders under solutions/.
  const std::set<std::string>& lessons() const { return lessons_; }
  const std::set<std::string>& released() const { return released_; }

  /// Makes `change`, which is given the folder of the last update's files, and commits it as the next update,
  /// which is merged into what the folder has now. The change is made elsewhere: when something fails,
  /// nothing has happened. Prints what students get. Throws std::runtime_error with git's words where the
  /// update contradicts what was edited in the folder.
  void publish(const std::string& what, const std::string& from_commit,
               const std::function<void(const fs::path&)>& change) {
    const std::string message = what + ", from the course's " + from_commit;
    if (is_new()) {
      publish_first(message, change);
      fmt::print("{} holds {}; students get it with: git clone {}\n", folder_.string(), what,
                 shell_word(folder_));
    } else if (const int number = publish_next(message, change); number > 0) {
      fmt::print("{} is at update {}: {}; students get it with: git pull --no-rebase --no-edit --autostash\n",
                 folder_.string(), number, what);
    } else {
      fmt::print("{} is up to date; nothing was changed\n", folder_.string());
    }
  }

 private:
  void look_at_last_update() {
    const Captured found = ask_git(folder_, {"log", "-1", "--format=%H", "--", handout_file});
    if (found.exit.code != 0 || found.output.empty()) return;
    last_ = found.first_line();
    const auto registry = nlohmann::json::parse(git(folder_, {"show", last_ + ":lessons/registry.json"}));
    for (const nlohmann::json& lesson : registry.at("lessons"))
      lessons_.insert(lesson.at("id").get<std::string>());
    for (const std::string& path : lines_of(git(folder_, {"ls-tree", "--name-only", last_, "solutions/"})))
      released_.insert(fs::path(path).filename());
  }

  void publish_first(const std::string& message, const std::function<void(const fs::path&)>& change) const {
    const PlaceBeside place(folder_);
    git(place.path, {"init", "--quiet", "--initial-branch=main", "--template="});
    change(place.path);
    commit(place.path, 0, message);
    fs::rename(place.path, folder_);
  }

  /// Returns the update's number, or 0 when nothing has changed.
  int publish_next(const std::string& message, const std::function<void(const fs::path&)>& change) const {
    const TemporaryFolder temporary;
    const fs::path place = temporary.path() / "handout";
    git(temporary.path(), {"clone", "--quiet", "--no-checkout", folder_, place});
    git(place, {"checkout", "--quiet", "--detach", last_});
    const int number = nlohmann::json::parse(read_text(place / handout_file)).at("update");
    change(place);
    if (!commit(place, number, message)) return 0;
    merge(place, number + 1);
    return number + 1;
  }

  void merge(const fs::path& place, int number) const {
    git(folder_, {"fetch", "--quiet", place, "HEAD"});
    const Captured said =
        ask_git(folder_, {"merge", "--quiet", "-m", "Merge update " + std::to_string(number), "FETCH_HEAD"});
    if (said.exit.code == 0) return;
    ask_git(folder_, {"merge", "--abort"});
    throw std::runtime_error(
        "the update contradicts what was changed in " + folder_.string() +
        ", which stays as it was. Undo it there, or make the same change in the course; git says:\n" +
        said.output);
  }

  fs::path folder_;
  std::string last_;  ///< the last update's commit; empty where there is none
  std::set<std::string> lessons_;
  std::set<std::string> released_;
};

/// What the earlier handout holds stays, since students may have begun with it.
std::vector<LessonInfo> lessons_to_hand_out(const std::vector<LessonInfo>& all,
                                            const HandoutRepository& earlier,
                                            const std::optional<std::string>& asked) {
  if (!asked && earlier.is_new()) return all;
  std::vector<std::string> wanted(earlier.lessons().begin(), earlier.lessons().end());
  if (asked) wanted.push_back(*asked);
  return choose_lessons(all, joined(wanted, {}, ","), "handout --lessons");
}

/// All that the folder holds but the git history is written anew.
void write_all(const Checkout& course, const std::vector<LessonInfo>& lessons,
               const std::set<std::string>& released, const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != ".git") fs::remove_all(entry.path());
  }
  write_handout(course, lessons, folder);
  for (const LessonInfo& lesson : lessons) {
    if (released.contains(lesson.folder())) write_solution(course, lesson, folder);
  }
}

/// Says on stderr which files differ from what is committed, and so go out otherwise than they are here.
/// Those that students edit don't go out at all.
void warn_of_uncommitted(const Checkout& checkout) {
  constexpr std::size_t shown = 5;
  std::vector<std::string> files =
      lines_of(git(checkout.root, {"diff", "--no-ext-diff", "--name-only", "--relative", "HEAD"}));
  const std::set<std::string> edited = checkout.student_files();
  std::erase_if(files, [&](const std::string& file) { return edited.contains(file); });
  if (files.empty()) return;
  std::string more;
  if (files.size() > shown) more = fmt::format(" and {} more", files.size() - shown);
  files.resize(std::min(files.size(), shown));
  complain("changed here but not committed, so they go out as they are committed: " + joined(files) + more);
}

/// Says on stderr which lessons are built on and not held. No more than that: lessons meet in contracts, so
/// each works without the others, and a class may have done those elsewhere.
void warn_of_missing_lessons(const Checkout& course, const std::vector<LessonInfo>& lessons,
                             const std::string& folder) {
  const std::vector<std::string> missing =
      lessons_built_on(read_text(course.root / "lessons" / "registry.json"), lessons);
  if (missing.empty()) return;
  complain(
      fmt::format("these lessons build on lesson{} {}, which the handout does not hold; "
                  "./course handout {} --lessons {} adds {}",
                  missing.size() == 1 ? "" : "s", listed(missing), shell_word(folder),
                  joined(missing, {}, ","), missing.size() == 1 ? "it" : "them"));
}

int release_as_patch(const Checkout& checkout, const LessonInfo& lesson) {
  const std::string nothing =
      lines_of(git(checkout.root, {"hash-object", "-t", "tree", "/dev/null"})).front();
  const std::string solution = fs::path("solutions") / lesson.folder();
  const Exit exit =
      run(git_command(checkout.root, {"-c", "diff.noprefix=false", "-c", "diff.mnemonicPrefix=false",
                                      "--no-pager", "diff", "--no-ext-diff", "--no-color", "--binary",
                                      "--relative", nothing, "HEAD", "--", solution}));
  if (exit.code != 0) throw std::runtime_error("git diff ended with exit code " + std::to_string(exit.code));
  return succeeded;
}

}  // namespace

int handout(const Checkout& checkout, const HandoutOptions& options) {
  require_git();
  const Interruptible interruptible;
  HandoutRepository repository(options.folder);
  const CommittedCourse committed(checkout);
  const Checkout& course = committed.course;
  const std::vector<LessonInfo> lessons = lessons_to_hand_out(course.lessons, repository, options.lessons);
  warn_of_uncommitted(checkout);
  warn_of_missing_lessons(course, lessons, options.folder);
  const std::string what = (lessons.size() == 1 ? "lesson " : "lessons ") + joined(lessons, &LessonInfo::id);
  repository.publish(what, committed.commit, [&](const fs::path& place) {
    write_all(course, lessons, repository.released(), place);
  });
  return succeeded;
}

int release(const Checkout& checkout, const std::string& argument, const std::string& folder) {
  require_git();
  const Interruptible interruptible;
  const CommittedCourse committed(checkout);
  const Checkout& course = committed.course;
  const LessonInfo& lesson = choose_whole_lesson(course.lessons, argument, "release");
  course.require_solution(lesson);
  if (folder.empty()) {
    warn_of_uncommitted(checkout);
    return release_as_patch(checkout, lesson);
  }
  HandoutRepository repository(folder);
  if (repository.is_new()) throw UsageError(folder + " is no handout; ./course handout makes one");
  if (!repository.lessons().contains(lesson.id)) {
    throw UsageError("the handout in " + folder + " does not hold lesson " + lesson.id +
                     "; ./course handout " + shell_word(folder) + " --lessons " + lesson.id + " adds it");
  }
  warn_of_uncommitted(checkout);
  repository.publish("the solution of lesson " + lesson.id, committed.commit,
                     [&](const fs::path& place) { write_solution(course, lesson, place); });
  return succeeded;
}

}  // namespace course::program
