#include "course/next_step.hpp"

#include <fmt/core.h>

#include "course/terminal.hpp"

namespace course::program {

namespace {

std::string file_to_edit(const LessonInfo& lesson) {
  return Checkout::student_file(lesson, lesson.files.front()).string();
}

std::string readme(const LessonInfo& lesson) {
  return (Checkout::lesson_folder(lesson) / "README.md").string();
}

std::string named(const TaskInfo& task) {
  return fmt::format("task {} ({})", task.id, task.name);
}

/// What to do about a lesson that is not passed.
std::string step_in(const LessonStanding& standing) {
  const LessonInfo& lesson = *standing.lesson;
  if (standing.status == Status::Todo) {
    return fmt::format("read {}, write {} in {}, then: ./course check {}", readme(lesson),
                       named(*standing.open_task()->task), file_to_edit(lesson), lesson.id);
  }
  if (standing.stale) return fmt::format("./course check {} (its file has changed)", lesson.id);
  if (standing.obstacle.ends_with(" is missing")) {
    return fmt::format("{}; ./course reset {} brings the skeleton back", standing.obstacle, lesson.id);
  }
  if (!standing.obstacle.empty()) return fmt::format("{} {}", file_to_edit(lesson), standing.obstacle);
  if (standing.open_task()->unfinished)
    return fmt::format("./course check {} (this was a part of it)", lesson.id);
  return fmt::format("{} in {}; a hint: ./course hint {}", named(*standing.open_task()->task),
                     file_to_edit(lesson), lesson.id);
}

}  // namespace

std::vector<LessonStanding> all_standings(const Checkout& checkout) {
  const Progress progress = read_progress(checkout);
  std::vector<LessonStanding> standings;
  for (const LessonInfo& lesson : checkout.lessons)
    standings.push_back(standing_of(checkout, lesson, progress));
  return standings;
}

std::string next_step(const std::vector<LessonStanding>& standings, const std::string& after) {
  std::size_t start = 0;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    if (standings[i].lesson->id == after) start = i + 1;
  }
  for (std::size_t step = 0; step < standings.size(); ++step) {
    const LessonStanding& standing = standings[(start + step) % standings.size()];
    if (standing.status == Status::Passed || standing.status == Status::Skipped) continue;
    return fmt::format("next: lesson {}: {}", standing.lesson->id, step_in(standing));
  }
  return "every lesson that this machine can play is passed";
}

std::string verdict_text(const Checkout& checkout, const LessonStanding& standing) {
  const LessonInfo& lesson = *standing.lesson;
  if (standing.status == Status::Todo) {
    return fmt::format("lesson {} is still the skeleton: open {} and write {}; {} explains it\n", lesson.id,
                       file_to_edit(lesson), named(*standing.open_task()->task), readme(lesson));
  }
  const std::string score = fmt::format("{} of {} tasks passed, {} of {} points", standing.passed_tasks(),
                                        standing.tasks.size(), standing.points(), lesson.max_points());
  if (standing.status != Status::Passed) {
    return fmt::format("{} {}\nnext: {}\n", painted(fmt::format("lesson {}:", lesson.id), Colour::Bold),
                       score, step_in(standing));
  }
  return fmt::format("{} {}\n{}\n", painted(fmt::format("lesson {} passed:", lesson.id), Colour::Green),
                     score, next_step(all_standings(checkout), lesson.id));
}

}  // namespace course::program
