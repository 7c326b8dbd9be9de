#include <fmt/core.h>
#include <signal.h>

#include <algorithm>

#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t gutter = 3;      ///< diff's, between the columns
constexpr std::size_t narrowest = 40;  ///< a column of code below that is not readable

/// The column's width: what the terminal leaves, and elsewhere what the longest line needs.
std::size_t column_width(const std::string& mine, const std::string& solution) {
  std::size_t needed = narrowest;
  for (const std::string& line : lines_of(mine + "\n" + solution)) needed = std::max(needed, line.size());
  const int whole = columns(stdout, 0);
  if (whole == 0) return needed;
  return std::clamp((static_cast<std::size_t>(whole) - gutter) / 2, narrowest, needed);
}

void print_beside(const std::string& file, const std::string& mine, const std::string& solution) {
  const std::size_t width = column_width(mine, solution);
  const TemporaryFolder temporary;
  write_text(temporary.path() / "mine", folded(mine, width));
  write_text(temporary.path() / "solution", folded(solution, width));
  fmt::print("{}\n{:<{}} | {}\n", painted(file, Colour::Bold), "mine", width + gutter - 2, "the solution");
  const Exit exit =
      run({.argv = {"diff", "--side-by-side", "--expand-tabs", "-W", std::to_string(2 * width + gutter),
                    temporary.path() / "mine", temporary.path() / "solution"}});
  const bool reader_left = exit.code == 128 + SIGPIPE;
  if (exit.code > 1 && !reader_left)
    throw std::runtime_error("diff ended with exit code " + std::to_string(exit.code));
}

}  // namespace

std::string folded(const std::string& text, std::size_t width) {
  const std::string continuation = "      ";
  std::string result;
  for (std::string line : lines_of(text)) {
    while (line.size() > width) {
      std::size_t cut = width;
      while (cut > width - 3 && (line[cut] & 0xc0) == 0x80) --cut;  // not inside a character of several bytes
      result += line.substr(0, cut) + "\n";
      line = continuation + line.substr(cut);
    }
    result += line + "\n";
  }
  return result;
}

int show(const Checkout& checkout, const std::string& argument, bool spoil) {
  const LessonInfo& lesson = choose_whole_lesson(checkout.lessons, argument, "show");
  checkout.require_solution(lesson);
  const LessonStatus lesson_status = lesson_status_of(checkout, lesson, read_progress(checkout));
  if (lesson_status.status != Status::Passed && !spoil) {
    complain(fmt::format(
        "lesson {} is not passed as it stands: {} of {} points; ./course check {}, or see the solution all "
        "the same with --spoil",
        lesson.id, lesson_status.points(), lesson.max_points(), lesson.id));
    return failed;
  }
  for (const std::string& file : lesson.files) {
    const fs::path mine = Checkout::student_file(lesson, file);
    print_beside(mine.string(), fs::exists(checkout.root / mine) ? read_text(checkout.root / mine) : "",
                 unmarked(read_text(checkout.root / Checkout::solution_file(lesson, file))));
  }
  const fs::path why = fs::path("solutions") / lesson.folder() / "why.md";
  if (fs::exists(checkout.root / why)) fmt::print("\nwhy so: {}\n", why.string());
  return succeeded;
}

}  // namespace course::program
