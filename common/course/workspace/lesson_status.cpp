#include "course/workspace/lesson_status.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

#include "course/terminal/terminal.hpp"
#include "protocol/errors.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

constexpr std::array status_names{"passed", "failed", "todo", "skipped"};  // in the order of Status

std::string described(const LessonInfo& lesson, const TestResult& result) {
  std::string text;
  for (const std::string& id : result.mistakes) {
    const auto known = std::ranges::find(lesson.mistakes, id, &MistakeInfo::id);
    if (known != lesson.mistakes.end()) text += looks_like(known->what) + "\n";
  }
  return text + result.text;
}

/// The public tests, played or not, and the hidden ones that were played.
std::vector<std::string> names_of_tests(const TaskInfo& task, const TestResults& played) {
  std::vector<std::string> names = test_names(task);
  for (const std::string& name : test_names(task)) {
    if (played.contains(name + hidden_suffix)) names.push_back(name + hidden_suffix);
  }
  return names;
}

/// Adds the ids that the test's text tells and that are not there yet.
void add_looks(const TestResult& result, std::vector<std::string>& ids) {
  for (const std::vector<std::string>* told : {&result.mistakes, &result.in_part, &result.of_outputs}) {
    std::ranges::copy_if(*told, std::back_inserter(ids),
                         [&](const std::string& id) { return std::ranges::find(ids, id) == ids.end(); });
  }
}

/// What was said of the task's other failed tests, each but once.
std::vector<std::pair<std::string, std::string>> told_apart(const LessonInfo& lesson,
                                                            const std::vector<std::string>& names,
                                                            const TestResults& played,
                                                            const TestResult& shown) {
  std::set<std::string> told{outline_of(described(lesson, shown))};
  std::vector<std::pair<std::string, std::string>> others;
  for (const std::string& name : names) {
    const auto found = played.find(name);
    if (found == played.end() || found->second.status != Status::Failed) continue;
    const std::string text = described(lesson, found->second);
    if (told.insert(outline_of(text)).second) others.emplace_back(name, text);
  }
  return others;
}

/// A task from what the judge said of its tests.
TaskStatus judged(const LessonInfo& lesson, const TaskInfo& task, const TestResults& played) {
  TaskStatus outcome{&task, Status::Passed, "", {}};
  std::vector<std::string> unplayed;
  bool todo = true;
  const TestResult* worst = nullptr;
  for (const std::string& name : names_of_tests(task, played)) {
    const auto found = played.find(name);
    if (found == played.end()) {
      unplayed.push_back(name);
      continue;
    }
    const TestResult& result = found->second;
    if (result.status == Status::Passed) {
      todo = false;
    } else if (worst == nullptr || (worst->status == Status::Todo && result.status == Status::Failed)) {
      worst = &result;
      outcome.test = name;
    }
    add_looks(result, outcome.looks_like);
    std::ranges::copy_if(result.mistakes, std::back_inserter(outcome.mistakes), [&](const std::string& id) {
      return std::ranges::find(outcome.mistakes, id) == outcome.mistakes.end();
    });
  }
  if (worst != nullptr) {
    outcome.status = todo && worst->status == Status::Todo ? Status::Todo : Status::Failed;
    outcome.diagnosis = described(lesson, *worst);
    outcome.ending = worst->ending;
    outcome.fact = worst->fact;
    outcome.has_line = worst->has_line;
    outcome.others = told_apart(lesson, names_of_tests(task, played), played, *worst);
  } else if (!unplayed.empty()) {
    outcome.status = Status::Failed;
    outcome.unfinished = true;
    outcome.unplayed = unplayed.size() == test_names(task).size();
    outcome.diagnosis = "not checked yet: " + joined(unplayed);
  }
  return outcome;
}

}  // namespace

std::string to_string(Status status) {
  return status_names.at(static_cast<std::size_t>(status));
}

Status status_named(const std::string& name) {
  const auto found = std::ranges::find(status_names, name);
  if (found == status_names.end())
    throw std::runtime_error("'" + name + "' is no status; expected passed, failed, todo or skipped");
  return static_cast<Status>(found - status_names.begin());
}

LessonFiles look_at_files(const Checkout& checkout, const LessonInfo& lesson) {
  LessonFiles files{{}, true, ""};
  std::vector<std::string> texts;
  for (const std::string& file : lesson.files) {
    const fs::path path = Checkout::student_file(lesson, file);
    if (!fs::is_regular_file(checkout.root / path)) return {path, false, ""};
    texts.push_back(read_text(checkout.root / path));
    const std::optional<std::string> skeleton = checkout.skeleton(lesson, file);
    files.untouched = files.untouched && skeleton && same_code(texts.back(), *skeleton);
  }
  files.hash = content_hash(texts);
  return files;
}

int LessonStatus::points() const {
  return std::transform_reduce(tasks.begin(), tasks.end(), 0, std::plus(), std::mem_fn(&TaskStatus::points));
}

const TaskStatus* LessonStatus::open_task() const {
  const auto open =
      std::ranges::find_if(tasks, [](const TaskStatus& task) { return task.status != Status::Passed; });
  return open == tasks.end() ? nullptr : &*open;
}

const TaskStatus* LessonStatus::next_task() const {
  const auto wrong = std::ranges::find_if(tasks, &TaskStatus::is_wrong);
  if (wrong != tasks.end()) return &*wrong;
  const auto has_passed = [](const TaskStatus& task) {
    return task.status == Status::Passed || (task.unfinished && !task.unplayed);
  };
  const auto last = std::ranges::find_if(tasks.rbegin(), tasks.rend(), has_passed);
  if (last == tasks.rend()) return open_task();
  if (last->status != Status::Passed) return &*last;
  return last.base() != tasks.end() ? &*last.base() : open_task();
}

LessonStatus lesson_status_as_a_whole(const LessonInfo& lesson, Status status, const std::string& why) {
  LessonStatus whole{&lesson, status};
  for (const TaskInfo& task : lesson.tasks) whole.tasks.push_back({&task, status, why, {}});
  return whole;
}

LessonStatus lesson_status_of(const LessonInfo& lesson, const TestResults& tests) {
  LessonStatus played{&lesson, Status::Passed};
  for (const TaskInfo& task : lesson.tasks) played.tasks.push_back(judged(lesson, task, tests));
  if (played.open_task() != nullptr) played.status = Status::Failed;
  return played;
}

LessonStatus lesson_status_of(const LessonInfo& lesson, const LessonFiles& files, const LessonRecord* record,
                              const std::string& obstacle) {
  const auto blocked = [&](const std::string& why) {
    LessonStatus whole = lesson_status_as_a_whole(lesson, Status::Failed, why);
    whole.obstacle = why;
    return whole;
  };
  if (!obstacle.empty()) return lesson_status_as_a_whole(lesson, Status::Skipped, obstacle);
  if (!files.missing.empty()) {
    LessonStatus without = blocked(files.missing.string() + " is missing");
    without.missing = true;
    return without;
  }
  if (files.untouched) return lesson_status_as_a_whole(lesson, Status::Todo, "not written yet");
  if (record == nullptr || record->hash != files.hash) {
    const std::string state = record == nullptr ? "not checked yet" : "changed since the last check";
    LessonStatus stale =
        lesson_status_as_a_whole(lesson, Status::Failed, state + ": ./course check " + lesson.id);
    stale.stale = true;
    return stale;
  }
  if (!record->build_error.empty()) return blocked("does not compile: " + record->build_error);
  return lesson_status_of(lesson, record->tests);
}

LessonStatus lesson_status_of(const Checkout& checkout, const LessonInfo& lesson, const Progress& progress) {
  const LessonFiles files = look_at_files(checkout, lesson);
  const auto last = progress.lessons.find(lesson.id);
  const LessonRecord* record = last == progress.lessons.end() ? nullptr : &last->second;
  const auto is_of_these = [&](const LessonRecord& of) { return of.hash == files.hash; };
  // Files that are again as they were when they passed are passed.
  const auto passed = progress.passed.find(lesson.id);
  if (passed != progress.passed.end() && is_of_these(passed->second) &&
      (record == nullptr || !is_of_these(*record)))
    record = &passed->second;
  return lesson_status_of(lesson, files, record, checkout.obstacle(lesson));
}

std::vector<LessonStatus> all_lesson_statuses(const Checkout& checkout) {
  const Progress progress = read_progress(checkout);
  std::vector<LessonStatus> all;
  for (const LessonInfo& lesson : checkout.lessons)
    all.push_back(lesson_status_of(checkout, lesson, progress));
  return all;
}

const LessonInfo& held_lesson(const Checkout& checkout, Role role, const std::string& command) {
  const LessonInfo* lesson = lesson_with(checkout.lessons, role);
  if (lesson != nullptr) return *lesson;
  throw Unavailable(command + " runs the lesson of " + in_words(role) + ", and this " +
                    (checkout.is_handout() ? "handout" : "checkout") + " does not hold it");
}

bool runs_own_lessons(const Checkout& checkout, const Progress& progress, const std::string& command,
                      const std::vector<Role>& needed, bool asked_for_mine) {
  std::vector<const LessonInfo*> lessons;
  for (const Role role : needed) lessons.push_back(&held_lesson(checkout, role, "./course " + command));
  const auto has_solution = [&](const LessonInfo* lesson) { return checkout.has_solution(*lesson); };
  if (!asked_for_mine && std::ranges::all_of(lessons, has_solution)) return false;
  std::string missing, first;
  for (const LessonInfo* lesson : lessons) {
    if (lesson_status_of(checkout, *lesson, progress).status == Status::Passed) continue;
    const std::string name = lesson->id + " (" + lesson->name + ")";
    missing += missing.empty() ? "lesson " + name + " is not passed as it stands" : ", nor is " + name;
    if (first.empty()) first = lesson->id;
  }
  if (missing.empty()) return true;
  throw Unavailable(std::string(asked_for_mine
                                    ? "--mine runs your own lessons"
                                    : "without the solutions " +
                                          (command == "demo" ? "the demo" : "./course " + command) +
                                          " runs your own lessons") +
                    ", and " + missing + ": ./course check " + first);
}

std::string runnable_subject(const Checkout& checkout, const LessonInfo& lesson, const Progress& progress,
                             const std::string& command) {
  if (lesson_status_of(checkout, lesson, progress).status == Status::Passed) return "student";
  if (checkout.has_solution(lesson)) return "solution";
  throw Unavailable(command + " runs your own lesson " + lesson.id + " (" + lesson.name +
                    ") where there is no solution, and it is not passed as it stands: ./course check " +
                    lesson.id);
}

}  // namespace course::program
