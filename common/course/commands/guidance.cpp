#include <fmt/core.h>

#include <algorithm>
#include <optional>

#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "protocol/fact_kinds.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// "lessons/03_ring_softmax/README.md:181"; empty where the lesson's README has no such line.
std::string place_in_readme(const Checkout& checkout, const LessonInfo& lesson, const std::string& line) {
  const fs::path file = Checkout::lesson_folder(lesson) / "README.md";
  if (!fs::exists(checkout.root / file)) return "";
  const std::vector<std::string> lines = lines_of(read_text(checkout.root / file));
  const auto found = std::ranges::find(lines, line);
  return found == lines.end() ? "" : fmt::format("{}:{}", file.string(), found - lines.begin() + 1);
}

std::string row_text(const MistakeRow& row) {
  return fmt::format("  explained in {}:{}, a row of \"{}\"\n    what you see: {}\n    what it is: {}\n",
                     row.page.string(), row.line, mistakes_section, row.seen, row.cause);
}

/// The row on what an instrument told, if the check shows a fact of that kind.
const MistakeRow* row_on_fact(const std::vector<MistakeRow>& rows, const std::string& fact) {
  const auto row = std::ranges::find_if(
      rows, [&](const MistakeRow& of) { return !fact.empty() && std::ranges::count(of.facts, fact) > 0; });
  return row == rows.end() ? nullptr : &*row;
}

/// The known mistakes that the check named, be it of one output only.
std::vector<const MistakeInfo*> named_mistakes(const LessonInfo& lesson, const TaskStatus& task) {
  std::vector<const MistakeInfo*> named;
  for (const MistakeInfo& mistake : lesson.mistakes) {
    if (std::ranges::count(task.looks_like, mistake.id) > 0) named.push_back(&mistake);
  }
  return named;
}

/// The input that shows a known mistake, and the README's rows on it.
std::string about_mistake(const std::vector<MistakeRow>& rows, const MistakeInfo& mistake) {
  std::string text = fmt::format("  {}: it shows on {}\n", mistake.what, mistake.exposed_by);
  for (const MistakeRow& row : rows) {
    if (std::ranges::count(row.mistakes, mistake.id) > 0) text += row_text(row);
  }
  return text;
}

/// All that the check said of the task, as many lines as it had.
std::vector<std::string> lines_said(const TaskStatus& task) {
  std::vector<std::string> said = lines_of(task.diagnosis);
  for (const auto& [test, text] : task.others) {
    const std::size_t ranks = test.find("ranks");
    const std::size_t first = said.size();
    for (const std::string& line : lines_of(text)) said.push_back("  " + line);
    said.insert(said.begin() + static_cast<std::ptrdiff_t>(first),
                ranks == std::string::npos ? test + ":" : "on " + test.substr(ranks + 5) + " ranks:");
  }
  return said;
}

/// Where a deadlock's report is explained: the lesson that teaches it is the first with this heading.
std::string how_to_read_a_deadlock(const Checkout& checkout) {
  for (const LessonInfo& lesson : checkout.lessons) {
    const std::string place = place_in_readme(checkout, lesson, "### How to read a deadlock");
    if (!place.empty()) return "  how to read that: " + place + ", \"How to read a deadlock\"\n";
  }
  return "";
}

/// Whether what the check shows is no wrong answer, but a rule that the function breaks.
bool breaks_a_rule(const TaskStatus& task) {
  return task.ending == "broke a rule";
}

/// What to do next about a failure that no known mistake explains.
std::string next_step_after(const Checkout& checkout, const LessonInfo& lesson, const TaskStatus& task) {
  const std::string replay = fmt::format("./course replay {}.{}", lesson.tag(), task.test);
  const bool alone = task.task->ranks.empty() || task.test.ends_with(".ranks1");
  const std::string in_gdb =
      replay + (alone ? " --gdb 0, and in it " : " --gdb RANK, with a rank that the check names, and in it ");
  const std::string sanitized =
      lesson.needs_gpu()
          ? ""
          : fmt::format("  ./course check {} --sanitize names the line that reads or writes out of bounds\n",
                        lesson.id);
  // A kernel ran later than the call that throws, and the check names the kernel's line.
  if (task.ending == "threw" && lesson.needs_gpu() && task.has_line) return "";
  if (task.ending == "threw" && task.fact == fact_beyond_output && !sanitized.empty())
    return sanitized;  // found after the call: no line of the function's throws
  if (task.ending == "threw")
    return fmt::format("  {}`catch throw`, `run`, `bt`: the line that threw\n", in_gdb);
  if (task.ending == "crashed") {
    return (task.has_line ? "" : sanitized) + fmt::format("  {}`run`, `bt`: the line that crashed\n", in_gdb);
  }
  if (task.ending == "deadlock") {
    return "  the check lists for each rank the call that it waits in, and for whom: find the rank that "
           "should have answered\n" +
           how_to_read_a_deadlock(checkout) +
           fmt::format("  {}`run &`, after some seconds `interrupt`, `bt`: the line of yours that waits\n",
                       in_gdb);
  }
  if (task.ending == "stuck" || task.ending == "over limit") {
    return fmt::format(
        "  look for a loop that never ends\n  {}`run &`, after some seconds `interrupt`, `bt`: the loop\n",
        in_gdb);
  }
  if (task.ending == "lost") {
    return fmt::format(
        "  the function neither returned nor threw: look for exit and abort\n  {} shows what the program "
        "prints\n",
        replay);
  }
  if (breaks_a_rule(task) && lesson.needs_gpu() && task.has_line)
    return "  the answer is right on that input; a kernel that does this may give another one on another "
           "run\n";
  if (breaks_a_rule(task))
    return fmt::format(
        "  what it shows is no wrong number: the header in {} says what the task may use and send\n",
        Checkout::lesson_folder(lesson).string());
  return fmt::format("  {} plays that input again and shows your numbers beside the right ones\n", replay);
}

/// Where the table stands, for a failure that no row of it is about by name or fact.
std::string where_the_table_is(const Checkout& checkout, const LessonInfo& lesson, const TaskStatus& task) {
  const std::string table = place_in_readme(checkout, lesson, std::string("## ") + mistakes_section);
  return table.empty() || !(task.ending.empty() || breaks_a_rule(task))
             ? ""
             : fmt::format("  {} ({}) goes by what you see; it may have no row for this\n", table,
                           mistakes_section);
}

/// How to have the line found. On the simulated GPU a change takes seconds: five minutes try too few.
std::string where_locate_looks(const LessonInfo& lesson, const TaskStatus& task) {
  return breaks_a_rule(task) || lesson.needs_gpu() ? ""
                                                   : fmt::format(
                                                         "  ./course locate {}.{} looks for the line: it "
                                                         "tries small changes of your file, for five "
                                                         "minutes\n",
                                                         lesson.id, task.task->id);
}

}  // namespace

std::string failure_outline(const TaskStatus& task) {
  return task.mistakes.empty() ? task.ending + ": " + task.diagnosis : joined(task.mistakes);
}

std::string guidance(const Checkout& checkout, const LessonInfo& lesson, const TaskStatus& task,
                     bool in_drill) {
  const std::vector<MistakeRow> rows = mistake_rows(checkout, lesson);
  const std::vector<std::string> said = lines_said(task);
  std::string text =
      fmt::format("the last {} said: {}\n", in_drill ? "drill" : "check", joined(said, {}, "\n  "));
  const std::vector<const MistakeInfo*> named = named_mistakes(lesson, task);
  for (const MistakeInfo* mistake : named) text += about_mistake(rows, *mistake);
  if (!named.empty()) return text;
  const MistakeRow* on_fact = row_on_fact(rows, task.fact);
  text += on_fact != nullptr ? row_text(*on_fact) : where_the_table_is(checkout, lesson, task);
  return text + (in_drill ? "" : next_step_after(checkout, lesson, task) + where_locate_looks(lesson, task));
}

}  // namespace course::program
