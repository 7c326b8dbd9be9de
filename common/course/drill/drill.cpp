#include "course/drill/drill.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <random>
#include <stdexcept>

#include "course/build/build.hpp"
#include "course/build/diagnostics.hpp"
#include "course/build/saved_build.hpp"
#include "course/commands/next_step.hpp"
#include "course/drill/drill_file.hpp"
#include "course/drill/drill_history.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/contract.hpp"
#include "course/workspace/file_watcher.hpp"
#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/interruption.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

struct DrillTask {
  const LessonInfo* lesson;
  const TaskInfo* task;
  bool lesson_passed;  ///< as the student's files stand
};

/// What may be drilled: of one lesson or task, else of the passed lessons, else of all that this machine can
/// play.
std::vector<DrillTask> drillable(const Checkout& checkout, const LessonChoice* choice) {
  std::vector<DrillTask> passed;
  std::vector<DrillTask> all;
  for (const LessonStatus& lesson_status : all_lesson_statuses(checkout)) {
    const LessonInfo& lesson = *lesson_status.lesson;
    if (choice != nullptr && choice->lesson->id != lesson.id) continue;
    if (lesson_status.status == Status::Skipped) {
      if (choice == nullptr) continue;
      throw Unavailable("lesson " + lesson.id + " is skipped: " + lesson_status.tasks.front().diagnosis);
    }
    const bool is_passed = lesson_status.status == Status::Passed;
    for (const TaskInfo& task : lesson.tasks) {
      if (choice != nullptr && !choice->task.empty() && choice->task != task.id) continue;
      all.push_back({&lesson, &task, is_passed});
      if (is_passed) passed.push_back(all.back());
    }
  }
  if (all.empty()) throw Unavailable("there is no lesson that this machine can play");
  return passed.empty() ? all : passed;
}

DrillTask choose_drill(const Checkout& checkout, const std::string& argument) {
  std::optional<LessonChoice> choice;
  if (!argument.empty()) choice = choose_lesson(checkout.lessons, argument);
  const std::vector<DrillTask> tasks = drillable(checkout, choice ? &*choice : nullptr);
  std::random_device chance;
  return tasks[std::uniform_int_distribution<std::size_t>(0, tasks.size() - 1)(chance)];
}

/// One drill, from the fresh file to the verdict.
class Drill {
 public:
  Drill(const Checkout& checkout, const DrillTask& chosen)
      : checkout_(checkout), lesson_(*chosen.lesson), task_(*chosen.task), target_(lesson_.tag() + "_drill") {
    const fs::path kept =
        write_drill(checkout_, lesson_, drill_files(checkout_, lesson_, task_.id, chosen.lesson_passed));
    if (!kept.empty()) fmt::print("your last drill of lesson {} is kept in {}\n", lesson_.id, kept.string());
  }

  /// Compiles what can be compiled before the clock starts.
  void prepare() const {
    const BuildResult built =
        compile({target_, "judge_lesson" + lesson_.id, built_in_player(tree(), lesson_).filename()});
    if (!built.succeeded) throw std::runtime_error("the drill could not be built:\n" + failure_text(built));
  }

  void introduce() const {
    fmt::print("{}\n\n",
               painted(fmt::format("drill {}, {}: {}", name(), lesson_.title, task_.name), Colour::Bold));
    const std::optional<Contract> contract = contract_of(checkout_, lesson_, task_.id);
    if (contract) fmt::print("{}\n", contract->text);
    for (const fs::path& file : paths())
      fmt::print("write it in {}\n", fs::relative(file, checkout_.root).string());
    fmt::print("the clock runs; each save is checked; Ctrl-C gives up\n");
    std::fflush(stdout);
  }

  /// Returns when a save passes. Throws Interrupted.
  void run() {
    FileWatcher watcher(paths());
    start_ = Clock::now();
    // A line now and then would only disturb where it cannot be rewritten.
    ProgressLine clock(std::chrono::hours(24 * 365));
    bool passed = false;
    while (!passed) {
      watcher.wait([&] { clock.show(name() + ": " + duration(elapsed())); });
      clock.clear();
      stopped_at_ = elapsed();
      ++checks_;
      passed = passes();
      std::fflush(stdout);
    }
    conclude(true);
  }

  void give_up() {
    stopped_at_ = elapsed();
    conclude(false);
  }

 private:
  using Clock = std::chrono::steady_clock;

  std::string name() const { return lesson_.id + "." + task_.id; }
  fs::path tree() const { return checkout_.build(); }
  fs::path subject() const { return tree() / "lib" / (target_ + ".so"); }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  std::vector<fs::path> paths() const {
    std::vector<fs::path> files;
    for (const std::string& file : lesson_.files)
      files.push_back(checkout_.root / drill_folder(lesson_) / file);
    return files;
  }

  BuildResult compile(const std::vector<std::string>& targets) const {
    return build_as_saved({checkout_.root, tree(), targets, "drill " + name()}, paths(), subject()).result;
  }

  bool passes() const {
    const BuildResult built = compile({target_});
    const std::string diagnostics = student_diagnostics(built.steps, target_, checkout_.root);
    std::fputs(diagnostics.c_str(), stderr);
    if (!built.succeeded) {
      if (diagnostics.empty()) complain("the drill could not be built:\n" + failure_text(built));
      return false;
    }
    const std::vector<std::string> tests = selected_tests(lesson_, {task_.id, std::nullopt});
    GradingOrder order;
    order.lesson = &lesson_;
    order.tests = tests;
    order.tree = tree();
    order.subject = subject();
    order.player = {built_in_player(tree(), lesson_)};
    const std::map<std::string, TestResult> results = grade(checkout_, order);
    return std::all_of(tests.begin(), tests.end(), [&](const std::string& test) {
      const auto found = results.find(test);
      return found != results.end() && found->second.status == Status::Passed;
    });
  }

  void conclude(bool passed) const {
    remember_drill(checkout_, {lesson_.id, task_.id, date_and_time(), std::round(stopped_at_ * 10) / 10,
                               checks_, passed});
    const std::string time = duration(stopped_at_);
    fmt::print("\n{}\n{}",
               passed ? painted(fmt::format("drill {} passed in {}", name(), time), Colour::Green)
                      : fmt::format("drill {} given up after {}", name(), time),
               drill_list(drills_of(read_drills(checkout_), lesson_.id, task_.id)));
  }

  const Checkout& checkout_;
  const LessonInfo& lesson_;
  const TaskInfo& task_;
  std::string target_;
  Clock::time_point start_;
  double stopped_at_ = 0;
  int checks_ = 0;
};

int print_history(const Checkout& checkout, const std::string& argument) {
  LessonChoice choice{nullptr, ""};
  if (!argument.empty()) choice = choose_lesson(checkout.lessons, argument);
  const std::vector<DrillRecord> drills =
      drills_of(read_drills(checkout), choice.lesson == nullptr ? "" : choice.lesson->id, choice.task);
  if (drills.empty()) {
    fmt::print("no drill yet; ./course drill {} starts one\n", argument);
  } else {
    fmt::print("{}", drill_table(drills, checkout.lessons));
  }
  return succeeded;
}

}  // namespace

int drill(const Checkout& checkout, const DrillOptions& options) {
  if (options.history) return print_history(checkout, options.task);
  Drill drill(checkout, choose_drill(checkout, options.task));
  const Interruptible until_ctrl_c;
  drill.prepare();
  drill.introduce();
  try {
    drill.run();
  } catch (const Interrupted&) {
    drill.give_up();
    throw;
  }
  return succeeded;
}

}  // namespace course::program
