#include <fmt/core.h>

#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "course/terminal/words.hpp"
#include "course/workspace/file_watcher.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/interruption.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace {

/// A line at a time of day, to find one's way in a long output.
void print_now(const std::string& what) {
  fmt::print("{}\n", painted(clock_time() + "  " + what, Colour::Bold));
  std::fflush(stdout);
}

bool passes(const Checkout& checkout, const CheckOptions& options) {
  try {
    const bool passed = check(checkout, options) == succeeded;
    std::fflush(stdout);
    return passed;
  } catch (const std::runtime_error& error) {
    complain(error.what());  // the next save may mend it
    return false;
  }
}

/// Returns when the lesson has passed a check.
void watch_until_passed(const Checkout& checkout, const LessonInfo& lesson, bool problems,
                        bool check_at_once) {
  const CheckOptions options{.lesson = lesson.id, .problems = problems};
  std::vector<std::filesystem::path> files;
  for (const std::string& file : lesson.files) files.push_back(Checkout::student_file(lesson, file));
  print_now(fmt::format("watching {}: each save is checked; Ctrl-C ends this",
                        joined(
                            files, [](const auto& file) { return file.string(); }, " and ")));
  for (std::filesystem::path& file : files) file = checkout.root / file;
  FileWatcher watcher(files);
  if (check_at_once && passes(checkout, options)) return;
  do {
    watcher.wait();
    print_now("saved; checking lesson " + lesson.id);
  } while (!passes(checkout, options));
}

const LessonInfo* lesson_after(const Checkout& checkout, const std::string& id) {
  const std::vector<LessonStatus> lesson_statuses = all_lesson_statuses(checkout);
  const LessonStatus* next = next_open(lesson_statuses, id);
  return next == nullptr ? nullptr : next->lesson;
}

}  // namespace

int watch(const Checkout& checkout, const std::string& argument, bool problems) {
  const LessonInfo* lesson = argument.empty() ? lesson_after(checkout, "")
                                              : &choose_whole_lesson(checkout.lessons, argument, "watch");
  const Interruptible until_ctrl_c;
  bool first = true;
  while (lesson != nullptr) {
    const LessonStatus now = lesson_status_of(checkout, *lesson, read_progress(checkout));
    if (now.status == Status::Skipped)
      throw Unavailable("lesson " + lesson->id + " is skipped: " + now.tasks.front().diagnosis);
    // A lesson that is passed and named all the same is there to be worked on. Of a skeleton one is told
    // once.
    const bool check_at_once = now.status == Status::Failed || (first && now.status == Status::Todo);
    watch_until_passed(checkout, *lesson, problems, check_at_once);
    lesson = lesson_after(checkout, lesson->id);
    first = false;
  }
  fmt::print("every lesson that this machine can play is passed; there is nothing to watch\n");
  return succeeded;
}

}  // namespace course::program
