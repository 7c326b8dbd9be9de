#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "course/commands/commands.hpp"
#include "course/handout/git.hpp"
#include "course/handout/handout_content.hpp"
#include "course/handout/handout_repository.hpp"
#include "course/terminal/terminal.hpp"
#include "course/terminal/words.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/interruption.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

std::string ids_of(const std::vector<LessonInfo>& lessons) {
  return (lessons.size() == 1 ? "lesson " : "lessons ") + joined(lessons, &LessonInfo::id);
}

/// What the earlier handout holds stays, since students may have begun with it.
std::vector<LessonInfo> lessons_to_hand_out(const std::vector<LessonInfo>& all,
                                            const HandoutRepository& earlier,
                                            const std::optional<std::string>& asked) {
  if (!asked && earlier.is_new()) return all;
  std::vector<std::string> wanted(earlier.lessons().begin(), earlier.lessons().end());
  if (asked) wanted.push_back(*asked);
  return choose_lessons(all, joined(wanted, {}, ","), "handout --lessons");
}

/// Takes away all but the git history.
void clear(const fs::path& folder) {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != ".git") fs::remove_all(entry.path());
  }
}

void write_all(const Checkout& course, const std::vector<LessonInfo>& lessons,
               const std::set<std::string>& released, const fs::path& folder) {
  clear(folder);
  write_handout(course, lessons, folder);
  for (const LessonInfo& lesson : lessons) {
    if (released.contains(lesson.folder())) write_solution(course, lesson, folder);
  }
}

void print_result(const HandoutRepository& repository, int number, const std::string& what) {
  const std::string folder = repository.folder().string();
  if (number == 0) {
    fmt::print("{} is up to date; nothing was changed\n", folder);
  } else if (number == 1) {
    fmt::print("{} holds {}; students get it with: git clone {}\n", folder, what, folder);
  } else {
    fmt::print("{} is at update {}: {}; students get it with: git pull --rebase --autostash\n", folder,
               number, what);
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
  const Checkout& course = committed.course();
  const std::vector<LessonInfo> lessons = lessons_to_hand_out(course.lessons, repository, options.lessons);
  warn_of_uncommitted(checkout);
  const std::string what = ids_of(lessons);
  const int number = repository.publish(
      [&](const fs::path& folder) { write_all(course, lessons, repository.released(), folder); },
      what + ", from the course's " + committed.commit());
  print_result(repository, number, what);
  return succeeded;
}

int release(const Checkout& checkout, const std::string& argument, const std::string& folder) {
  require_git();
  const Interruptible interruptible;
  const CommittedCourse committed(checkout);
  const Checkout& course = committed.course();
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
                     "; ./course handout " + folder + " --lessons " + lesson.id + " adds it");
  }
  warn_of_uncommitted(checkout);
  const std::string what = "the solution of lesson " + lesson.id;
  const int number = repository.publish([&](const fs::path& place) { write_solution(course, lesson, place); },
                                        what + ", from the course's " + committed.commit());
  print_result(repository, number, what);
  return succeeded;
}

}  // namespace course::program
