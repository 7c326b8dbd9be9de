#include "course/commands/next_step.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "course/terminal/terminal.hpp"

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
std::string step_in(const LessonStatus& lesson_status) {
  const LessonInfo& lesson = *lesson_status.lesson;
  if (lesson_status.status == Status::Todo) {
    return fmt::format("read {}, write {} in {}, then: ./course check {}", readme(lesson),
                       named(*lesson_status.open_task()->task), file_to_edit(lesson), lesson.id);
  }
  if (lesson_status.stale) return fmt::format("./course check {} (its file has changed)", lesson.id);
  if (lesson_status.obstacle.ends_with(" is missing")) {
    return fmt::format("{}; ./course reset {} brings the skeleton back", lesson_status.obstacle, lesson.id);
  }
  if (!lesson_status.obstacle.empty())
    return fmt::format("{} {}", file_to_edit(lesson), lesson_status.obstacle);
  if (lesson_status.open_task()->unfinished)
    return fmt::format("./course check {} (this was a part of it)", lesson.id);
  return fmt::format("{} in {}; a hint: ./course hint {}", named(*lesson_status.open_task()->task),
                     file_to_edit(lesson), lesson.id);
}

/// "task 2", "tasks 1 and 3", "tasks 1, 2 and 3"
std::string tasks_by_number(const std::vector<const TaskStatus*>& tasks) {
  std::string text = tasks.size() == 1 ? "task " : "tasks ";
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0) text += i + 1 == tasks.size() ? " and " : ", ";
    text += tasks[i]->task->id;
  }
  return text;
}

const char* state_after_part(const TaskStatus& task) {
  if (task.unplayed) return "not checked since the file changed";
  if (task.unfinished) return "passed as far as it was checked";
  if (task.status == Status::Todo) return "not written yet";
  return task.status == Status::Passed ? "passed" : "failed";
}

/// "task 3 passed; tasks 1 and 2 not checked since the file changed"
std::string score_of_part(const LessonStatus& lesson_status) {
  std::vector<std::pair<std::string, std::vector<const TaskStatus*>>> groups;
  for (const TaskStatus& task : lesson_status.tasks) {
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

std::string score(const LessonStatus& lesson_status) {
  const bool in_part = std::any_of(lesson_status.tasks.begin(), lesson_status.tasks.end(),
                                   [](const TaskStatus& task) { return task.unfinished; });
  if (in_part) return score_of_part(lesson_status);
  const std::string todo =
      lesson_status.todo_tasks() > 0 ? fmt::format("{} todo, ", lesson_status.todo_tasks()) : "";
  return fmt::format("{} of {} tasks passed, {}{} of {} points", lesson_status.passed_tasks(),
                     lesson_status.tasks.size(), todo, lesson_status.points(),
                     lesson_status.lesson->max_points());
}

}  // namespace

std::vector<LessonStatus> all_lesson_statuses(const Checkout& checkout) {
  const Progress progress = read_progress(checkout);
  std::vector<LessonStatus> lesson_statuses;
  for (const LessonInfo& lesson : checkout.lessons)
    lesson_statuses.push_back(lesson_status_of(checkout, lesson, progress));
  return lesson_statuses;
}

const LessonStatus* next_open(const std::vector<LessonStatus>& lesson_statuses, const std::string& after) {
  std::size_t start = 0;
  for (std::size_t i = 0; i < lesson_statuses.size(); ++i) {
    if (lesson_statuses[i].lesson->id == after) start = i + 1;
  }
  for (std::size_t step = 0; step < lesson_statuses.size(); ++step) {
    const LessonStatus& lesson_status = lesson_statuses[(start + step) % lesson_statuses.size()];
    if (lesson_status.status != Status::Passed && lesson_status.status != Status::Skipped)
      return &lesson_status;
  }
  return nullptr;
}

std::string next_step(const std::vector<LessonStatus>& lesson_statuses, const std::string& after) {
  const LessonStatus* next = next_open(lesson_statuses, after);
  if (next == nullptr) return "every lesson that this machine can play is passed";
  return fmt::format("next: lesson {}: {}", next->lesson->id, step_in(*next));
}

std::string own_player_text(const LessonStatus& lesson_status) {
  const LessonInfo& lesson = *lesson_status.lesson;
  const std::string text =
      fmt::format("lesson {} with your own player: {}\n", lesson.id, score(lesson_status));
  const TaskStatus* open = lesson_status.open_task();
  return open == nullptr
             ? text
             : text + fmt::format("next: {}; a hint: ./course hint {}\n", named(*open->task), lesson.id);
}

std::string verdict_text(const Checkout& checkout, const LessonStatus& lesson_status) {
  const LessonInfo& lesson = *lesson_status.lesson;
  if (lesson_status.status == Status::Todo) {
    return fmt::format("lesson {} is still the skeleton: open {} and write {}; {} explains it\n", lesson.id,
                       file_to_edit(lesson), named(*lesson_status.open_task()->task), readme(lesson));
  }
  if (lesson_status.status != Status::Passed) {
    return fmt::format("{} {}\nnext: {}\n", painted(fmt::format("lesson {}:", lesson.id), Colour::Bold),
                       score(lesson_status), step_in(lesson_status));
  }
  return fmt::format("{} {}\n{}\n", painted(fmt::format("lesson {} passed:", lesson.id), Colour::Green),
                     score(lesson_status), next_step(all_lesson_statuses(checkout), lesson.id));
}

}  // namespace course::program
