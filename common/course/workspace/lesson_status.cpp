#include "course/workspace/lesson_status.hpp"

#include <algorithm>

#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string described(const LessonInfo& lesson, const TestResult& result) {
  std::string text = result.text;
  for (const std::string& id : result.mistakes) {
    const auto known = std::find_if(lesson.mistakes.begin(), lesson.mistakes.end(),
                                    [&](const MistakeInfo& mistake) { return mistake.id == id; });
    if (known != lesson.mistakes.end()) text += "\nlooks like: " + known->what;
  }
  return text;
}

/// The public tests, played or not, and the hidden ones that were played.
std::vector<std::string> played_names(const TaskInfo& task, const LessonRecord& record) {
  std::vector<std::string> names = test_names(task);
  for (const std::string& name : test_names(task)) {
    if (record.tests.contains(name + hidden_suffix)) names.push_back(name + hidden_suffix);
  }
  return names;
}

/// A task from what the judge said of its tests.
TaskStatus judged(const LessonInfo& lesson, const TaskInfo& task, const LessonRecord& record) {
  TaskStatus lesson_status{&task, Status::Passed, "", {}};
  std::vector<std::string> unplayed;
  bool todo = true;
  const TestResult* worst = nullptr;
  for (const std::string& name : played_names(task, record)) {
    const auto found = record.tests.find(name);
    if (found == record.tests.end()) {
      unplayed.push_back(name);
      continue;
    }
    const TestResult& result = found->second;
    if (result.status == Status::Passed) {
      todo = false;
    } else if (worst == nullptr || (worst->status == Status::Todo && result.status == Status::Failed)) {
      worst = &result;
    }
    for (const std::string& id : result.mistakes) {
      const bool known = std::find(lesson_status.mistakes.begin(), lesson_status.mistakes.end(), id) !=
                         lesson_status.mistakes.end();
      if (!known) lesson_status.mistakes.push_back(id);
    }
  }
  if (worst != nullptr) {
    lesson_status.status = todo && worst->status == Status::Todo ? Status::Todo : Status::Failed;
    lesson_status.diagnosis = described(lesson, *worst);
  } else if (!unplayed.empty()) {
    lesson_status.status = Status::Failed;
    lesson_status.unfinished = true;
    lesson_status.unplayed = unplayed.size() == test_names(task).size();
    lesson_status.diagnosis = "not checked yet: " + joined(unplayed);
  }
  return lesson_status;
}

std::vector<TaskStatus> all_tasks(const LessonInfo& lesson, Status status, const std::string& diagnosis) {
  std::vector<TaskStatus> tasks;
  for (const TaskInfo& task : lesson.tasks) tasks.push_back({&task, status, diagnosis, {}});
  return tasks;
}

}  // namespace

LessonFiles look_at_files(const Checkout& checkout, const LessonInfo& lesson) {
  LessonFiles files;
  files.untouched = true;
  std::vector<std::string> texts;
  for (const std::string& file : lesson.files) {
    const fs::path path = Checkout::student_file(lesson, file);
    if (!fs::is_regular_file(checkout.root / path)) {
      files.missing.push_back(path);
      files.untouched = false;
      continue;
    }
    texts.push_back(read_text(checkout.root / path));
    const std::optional<std::string> skeleton = checkout.skeleton(lesson, file);
    files.untouched = files.untouched && skeleton && same_code(texts.back(), *skeleton);
  }
  files.hash = content_hash(texts);
  return files;
}

int LessonStatus::points() const {
  int sum = 0;
  for (const TaskStatus& task : tasks) sum += task.points();
  return sum;
}

static int tasks_that_are(Status status, const std::vector<TaskStatus>& tasks) {
  return static_cast<int>(std::count_if(tasks.begin(), tasks.end(),
                                        [&](const TaskStatus& task) { return task.status == status; }));
}

int LessonStatus::passed_tasks() const {
  return tasks_that_are(Status::Passed, tasks);
}

int LessonStatus::todo_tasks() const {
  return tasks_that_are(Status::Todo, tasks);
}

const TaskStatus* LessonStatus::open_task() const {
  for (const TaskStatus& task : tasks) {
    if (task.status != Status::Passed) return &task;
  }
  return nullptr;
}

LessonStatus lesson_status_as_a_whole(const LessonInfo& lesson, Status status, const std::string& why) {
  return {&lesson, status, false, "", all_tasks(lesson, status, why)};
}

LessonStatus lesson_status_of(const LessonInfo& lesson, const LessonFiles& files, const LessonRecord* record,
                              const std::string& obstacle) {
  const auto blocked = [&](const std::string& why) {
    LessonStatus lesson_status = lesson_status_as_a_whole(lesson, Status::Failed, why);
    lesson_status.obstacle = why;
    return lesson_status;
  };
  if (!obstacle.empty()) return lesson_status_as_a_whole(lesson, Status::Skipped, obstacle);
  if (!files.missing.empty()) return blocked(files.missing.front().string() + " is missing");
  if (files.untouched) return lesson_status_as_a_whole(lesson, Status::Todo, "not written yet");
  if (record == nullptr || record->hash != files.hash) {
    const std::string state = record == nullptr ? "not checked yet" : "changed since the last check";
    LessonStatus lesson_status =
        lesson_status_as_a_whole(lesson, Status::Failed, state + ": ./course check " + lesson.id);
    lesson_status.stale = true;
    return lesson_status;
  }
  if (!record->build_error.empty()) return blocked("does not compile: " + record->build_error);
  LessonStatus lesson_status{&lesson, Status::Passed, false, "", {}};
  for (const TaskInfo& task : lesson.tasks) lesson_status.tasks.push_back(judged(lesson, task, *record));
  if (lesson_status.open_task() != nullptr) lesson_status.status = Status::Failed;
  return lesson_status;
}

LessonStatus lesson_status_of(const Checkout& checkout, const LessonInfo& lesson, const Progress& progress) {
  const auto record = progress.lessons.find(lesson.id);
  return lesson_status_of(lesson, look_at_files(checkout, lesson),
                          record == progress.lessons.end() ? nullptr : &record->second,
                          checkout.obstacle(lesson));
}

}  // namespace course::program
