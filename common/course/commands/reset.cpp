#include <fmt/core.h>

#include "course/commands/commands.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// A file that is not the skeleton, and what it should be.
struct Changed {
  std::string file;
  fs::path path;  ///< absolute
  std::string skeleton;
};

std::vector<Changed> changed_files(const Checkout& checkout, const LessonInfo& lesson) {
  std::vector<Changed> changed;
  for (const std::string& file : checkout.files_with_skeleton(lesson)) {
    const std::optional<std::string> skeleton = checkout.skeleton(lesson, file);
    if (!skeleton) {
      throw Unavailable("there is no skeleton to go back to: neither " +
                        Checkout::kept_skeleton(lesson, file).string() + " nor, to cut it from, " +
                        Checkout::solution_file(lesson, file).string());
    }
    const fs::path path = checkout.root / Checkout::student_file(lesson, file);
    if (!fs::exists(path) || read_text(path) != *skeleton) changed.push_back({file, path, *skeleton});
  }
  return changed;
}

void forget(const Checkout& checkout, const LessonInfo& lesson) {
  update_progress(checkout, [&](Progress& progress) {
    progress.lessons.erase(lesson.id);
    for (const TaskInfo& task : lesson.tasks) {
      progress.hints.erase(lesson.id + "." + task.id);
      progress.guided.erase(lesson.id + "." + task.id);
    }
  });
}

}  // namespace

int reset(const Checkout& checkout, const std::string& argument) {
  const LessonInfo& lesson = choose_whole_lesson(checkout.lessons, argument, "reset");
  const std::vector<Changed> changed = changed_files(checkout, lesson);
  if (changed.empty()) {
    fmt::print("lesson {} is already the skeleton; nothing was changed\n", lesson.id);
    return succeeded;
  }
  const fs::path backup = unused_path(checkout.state() / "backup" / lesson.folder() / timestamp());
  for (const Changed& file : changed) {
    if (fs::exists(file.path)) {
      write_text(backup / file.file, read_text(file.path));
      fmt::print("yours is kept in {}\n", fs::relative(backup / file.file, checkout.root).string());
    }
    write_text(file.path, file.skeleton);
    fmt::print("{} is the skeleton again\n", Checkout::student_file(lesson, file.file).string());
  }
  forget(checkout, lesson);
  return succeeded;
}

}  // namespace course::program
