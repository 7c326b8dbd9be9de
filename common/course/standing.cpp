#include "course/standing.hpp"

#include <algorithm>

#include "course/text_file.hpp"
#include "skeleton/skeleton.hpp"

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
TaskStanding judged(const LessonInfo& lesson, const TaskInfo& task, const LessonRecord& record) {
  TaskStanding standing{&task, Status::Passed, "", {}};
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
      const bool known =
          std::find(standing.mistakes.begin(), standing.mistakes.end(), id) != standing.mistakes.end();
      if (!known) standing.mistakes.push_back(id);
    }
  }
  if (worst != nullptr) {
    standing.status = todo && worst->status == Status::Todo ? Status::Todo : Status::Failed;
    standing.diagnosis = described(lesson, *worst);
  } else if (!unplayed.empty()) {
    standing.status = Status::Failed;
    standing.unfinished = true;
    standing.unplayed = unplayed.size() == test_names(task).size();
    standing.diagnosis = "not checked yet: " + joined(unplayed);
  }
  return standing;
}

std::vector<TaskStanding> all_tasks(const LessonInfo& lesson, Status status, const std::string& diagnosis) {
  std::vector<TaskStanding> tasks;
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

int LessonStanding::points() const {
  int sum = 0;
  for (const TaskStanding& task : tasks) sum += task.points();
  return sum;
}

static int tasks_that_are(Status status, const std::vector<TaskStanding>& tasks) {
  return static_cast<int>(std::count_if(tasks.begin(), tasks.end(),
                                        [&](const TaskStanding& task) { return task.status == status; }));
}

int LessonStanding::passed_tasks() const {
  return tasks_that_are(Status::Passed, tasks);
}

int LessonStanding::todo_tasks() const {
  return tasks_that_are(Status::Todo, tasks);
}

const TaskStanding* LessonStanding::open_task() const {
  for (const TaskStanding& task : tasks) {
    if (task.status != Status::Passed) return &task;
  }
  return nullptr;
}

std::vector<std::string> test_names(const TaskInfo& task) {
  if (task.ranks.empty()) return {task.id};
  std::vector<std::string> names;
  for (const int ranks : task.ranks) names.push_back(task.id + ".ranks" + std::to_string(ranks));
  return names;
}

LessonStanding standing_as_a_whole(const LessonInfo& lesson, Status status, const std::string& why) {
  return {&lesson, status, false, "", all_tasks(lesson, status, why)};
}

LessonStanding standing_of(const LessonInfo& lesson, const LessonFiles& files, const LessonRecord* record,
                           const std::string& obstacle) {
  const auto blocked = [&](const std::string& why) {
    LessonStanding standing = standing_as_a_whole(lesson, Status::Failed, why);
    standing.obstacle = why;
    return standing;
  };
  if (!obstacle.empty()) return standing_as_a_whole(lesson, Status::Skipped, obstacle);
  if (!files.missing.empty()) return blocked(files.missing.front().string() + " is missing");
  if (files.untouched) return standing_as_a_whole(lesson, Status::Todo, "not written yet");
  if (record == nullptr || record->hash != files.hash) {
    const std::string state = record == nullptr ? "not checked yet" : "changed since the last check";
    LessonStanding standing =
        standing_as_a_whole(lesson, Status::Failed, state + ": ./course check " + lesson.id);
    standing.stale = true;
    return standing;
  }
  if (!record->build_error.empty()) return blocked("does not compile: " + record->build_error);
  LessonStanding standing{&lesson, Status::Passed, false, "", {}};
  for (const TaskInfo& task : lesson.tasks) standing.tasks.push_back(judged(lesson, task, *record));
  if (standing.open_task() != nullptr) standing.status = Status::Failed;
  return standing;
}

LessonStanding standing_of(const Checkout& checkout, const LessonInfo& lesson, const Progress& progress) {
  const auto record = progress.lessons.find(lesson.id);
  return standing_of(lesson, look_at_files(checkout, lesson),
                     record == progress.lessons.end() ? nullptr : &record->second, checkout.obstacle(lesson));
}

}  // namespace course::program
