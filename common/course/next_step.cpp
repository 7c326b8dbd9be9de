#include "course/next_step.hpp"

#include <fmt/core.h>

#include <algorithm>

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

/// "task 2", "tasks 1 and 3", "tasks 1, 2 and 3"
std::string tasks_by_number(const std::vector<const TaskStanding*>& tasks) {
  std::string text = tasks.size() == 1 ? "task " : "tasks ";
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0) text += i + 1 == tasks.size() ? " and " : ", ";
    text += tasks[i]->task->id;
  }
  return text;
}

const char* state_after_part(const TaskStanding& task) {
  if (task.unplayed) return "not checked since the file changed";
  if (task.unfinished) return "passed as far as it was checked";
  if (task.status == Status::Todo) return "not written yet";
  return task.status == Status::Passed ? "passed" : "failed";
}

/// "task 3 passed; tasks 1 and 2 not checked since the file changed"
std::string score_of_part(const LessonStanding& standing) {
  std::vector<std::pair<std::string, std::vector<const TaskStanding*>>> groups;
  for (const TaskStanding& task : standing.tasks) {
    const std::string state = state_after_part(task);
    const auto known =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == state; });
    if (known == groups.end()) {
      groups.push_back({state, {&task}});
    } else {
      known->second.push_back(&task);
    }
  }
  // What was checked comes first.
  std::stable_partition(groups.begin(), groups.end(),
                        [](const auto& group) { return !group.second.front()->unplayed; });
  std::string text;
  for (const auto& [state, tasks] : groups)
    text += (text.empty() ? "" : "; ") + tasks_by_number(tasks) + " " + state;
  return text;
}

std::string score(const LessonStanding& standing) {
  const bool in_part = std::any_of(standing.tasks.begin(), standing.tasks.end(),
                                   [](const TaskStanding& task) { return task.unfinished; });
  if (in_part) return score_of_part(standing);
  const std::string todo = standing.todo_tasks() > 0 ? fmt::format("{} todo, ", standing.todo_tasks()) : "";
  return fmt::format("{} of {} tasks passed, {}{} of {} points", standing.passed_tasks(),
                     standing.tasks.size(), todo, standing.points(), standing.lesson->max_points());
}

}  // namespace

std::vector<LessonStanding> all_standings(const Checkout& checkout) {
  const Progress progress = read_progress(checkout);
  std::vector<LessonStanding> standings;
  for (const LessonInfo& lesson : checkout.lessons)
    standings.push_back(standing_of(checkout, lesson, progress));
  return standings;
}

const LessonStanding* next_open(const std::vector<LessonStanding>& standings, const std::string& after) {
  std::size_t start = 0;
  for (std::size_t i = 0; i < standings.size(); ++i) {
    if (standings[i].lesson->id == after) start = i + 1;
  }
  for (std::size_t step = 0; step < standings.size(); ++step) {
    const LessonStanding& standing = standings[(start + step) % standings.size()];
    if (standing.status != Status::Passed && standing.status != Status::Skipped) return &standing;
  }
  return nullptr;
}

std::string next_step(const std::vector<LessonStanding>& standings, const std::string& after) {
  const LessonStanding* next = next_open(standings, after);
  if (next == nullptr) return "every lesson that this machine can play is passed";
  return fmt::format("next: lesson {}: {}", next->lesson->id, step_in(*next));
}

std::string own_player_text(const LessonStanding& standing) {
  const LessonInfo& lesson = *standing.lesson;
  const std::string text = fmt::format("lesson {} with your own player: {}\n", lesson.id, score(standing));
  const TaskStanding* open = standing.open_task();
  return open == nullptr
             ? text
             : text + fmt::format("next: {}; a hint: ./course hint {}\n", named(*open->task), lesson.id);
}

std::string verdict_text(const Checkout& checkout, const LessonStanding& standing) {
  const LessonInfo& lesson = *standing.lesson;
  if (standing.status == Status::Todo) {
    return fmt::format("lesson {} is still the skeleton: open {} and write {}; {} explains it\n", lesson.id,
                       file_to_edit(lesson), named(*standing.open_task()->task), readme(lesson));
  }
  if (standing.status != Status::Passed) {
    return fmt::format("{} {}\nnext: {}\n", painted(fmt::format("lesson {}:", lesson.id), Colour::Bold),
                       score(standing), step_in(standing));
  }
  return fmt::format("{} {}\n{}\n", painted(fmt::format("lesson {} passed:", lesson.id), Colour::Green),
                     score(standing), next_step(all_standings(checkout), lesson.id));
}

}  // namespace course::program
