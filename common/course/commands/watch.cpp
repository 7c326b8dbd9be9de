#include "course/commands/watch.hpp"

#include <fmt/core.h>

#include "course/commands/check.hpp"
#include "course/commands/next_step.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/file_watcher.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/interruption.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// A line at a time of day, to find one's way in a long output.
void print_now(const std::string& what) {
  fmt::print("{}\n", painted(clock_time() + "  " + what, Colour::Bold));
  std::fflush(stdout);
}

class Watch {
 public:
  Watch(const Checkout& checkout, bool problems) : checkout_(checkout), problems_(problems) {}

  /// Returns when the lesson has passed a check.
  void until_passed(const LessonInfo& lesson, bool check_at_once) const {
    std::vector<fs::path> files;
    std::string names;
    for (const std::string& file : lesson.files) {
      const fs::path path = Checkout::student_file(lesson, file);
      names += (names.empty() ? "" : " and ") + path.string();
      files.push_back(checkout_.root / path);
    }
    print_now(fmt::format("watching {}: each save is checked; Ctrl-C ends this", names));
    FileWatcher watcher(files);
    if (check_at_once && passes(lesson)) return;
    do {
      watcher.wait();
      print_now("saved; checking lesson " + lesson.id);
    } while (!passes(lesson));
  }

 private:
  bool passes(const LessonInfo& lesson) const {
    CheckOptions options;
    options.lesson = lesson.id;
    options.problems = problems_;
    try {
      const bool passed = check(checkout_, options) == succeeded;
      std::fflush(stdout);
      return passed;
    } catch (const std::runtime_error& error) {
      complain(error.what());  // the next save may mend it
      return false;
    }
  }

  const Checkout& checkout_;
  bool problems_;
};

const LessonInfo* lesson_after(const Checkout& checkout, const std::string& id) {
  const std::vector<LessonStatus> lesson_statuses = all_lesson_statuses(checkout);
  const LessonStatus* next = next_open(lesson_statuses, id);
  return next == nullptr ? nullptr : next->lesson;
}

LessonStatus lesson_status_now(const Checkout& checkout, const LessonInfo& lesson) {
  return lesson_status_of(checkout, lesson, read_progress(checkout));
}

}  // namespace

int watch(const Checkout& checkout, const std::string& argument, bool problems) {
  const LessonInfo* lesson = argument.empty() ? lesson_after(checkout, "")
                                              : &choose_whole_lesson(checkout.lessons, argument, "watch");
  const Interruptible until_ctrl_c;
  const Watch watch(checkout, problems);
  bool first = true;
  while (lesson != nullptr) {
    const LessonStatus lesson_status = lesson_status_now(checkout, *lesson);
    if (lesson_status.status == Status::Skipped) {
      throw Unavailable("lesson " + lesson->id + " is skipped: " + lesson_status.tasks.front().diagnosis);
    }
    // A lesson that is passed and named all the same is there to be worked on. Of a skeleton one is told
    // once.
    const bool check_at_once =
        lesson_status.status == Status::Failed || (first && lesson_status.status == Status::Todo);
    watch.until_passed(*lesson, check_at_once);
    lesson = lesson_after(checkout, lesson->id);
    first = false;
  }
  fmt::print("every lesson that this machine can play is passed; there is nothing to watch\n");
  return succeeded;
}

}  // namespace course::program
