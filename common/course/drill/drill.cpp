#include "course/drill/drill.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

#include "course/build/build.hpp"
#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/file_watcher.hpp"
#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "course/workspace/lesson_texts.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "skeleton/skeleton.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

struct DrillTask {
  const LessonInfo* lesson;
  const TaskInfo* task;
  bool lesson_passed;  ///< as the student's files stand
};

/// What may be drilled: of one lesson or task, if that is chosen, else of the passed lessons, else of all
/// that this machine can play.
std::vector<DrillTask> drillable(const Checkout& checkout, const LessonChoice& choice) {
  std::vector<DrillTask> all, passed;
  for (const LessonStatus& status : all_lesson_statuses(checkout)) {
    const LessonInfo& lesson = *status.lesson;
    const bool chosen = choice.lesson != nullptr && choice.lesson->id == lesson.id;
    if (choice.lesson != nullptr && !chosen) continue;
    if (status.status == Status::Skipped) {
      if (!chosen) continue;
      throw Unavailable("lesson " + lesson.id + " is skipped: " + status.tasks.front().diagnosis);
    }
    for (const TaskInfo& task : lesson.tasks) {
      if (!choice.task.empty() && choice.task != task.id) continue;
      all.push_back({&lesson, &task, status.status == Status::Passed});
      if (all.back().lesson_passed) passed.push_back(all.back());
    }
  }
  if (all.empty()) throw Unavailable("there is no lesson that this machine can play");
  return passed.empty() ? all : passed;
}

LessonChoice choice_of(const Checkout& checkout, const std::string& argument) {
  return argument.empty() ? LessonChoice() : choose_lesson(checkout.lessons, argument);
}

/// The easiest that has not been passed yet; nullptr where all have.
const DrillTask* first_not_done(const std::vector<DrillTask>& tasks, const std::vector<DrillRecord>& done) {
  const auto is_open = [&](const DrillTask& task) {
    return std::ranges::none_of(drills_of(done, task.lesson->id, task.task->id), &DrillRecord::passed);
  };
  const auto rank = [](const DrillTask& task) {
    return std::pair(task.task->rehearsal == 0, task.task->rehearsal);
  };
  const DrillTask* first = nullptr;
  for (const DrillTask& task : tasks) {
    if (is_open(task) && (first == nullptr || rank(task) < rank(*first))) first = &task;
  }
  return first;
}

DrillTask choose_drill(const Checkout& checkout, const std::string& argument) {
  const std::vector<DrillTask> tasks = drillable(checkout, choice_of(checkout, argument));
  // Of lessons that are passed any routine may be asked.
  const DrillTask* easiest =
      tasks.front().lesson_passed ? nullptr : first_not_done(tasks, read_drills(checkout));
  if (easiest != nullptr) return *easiest;
  std::random_device chance;
  return tasks[std::uniform_int_distribution<std::size_t>(0, tasks.size() - 1)(chance)];
}

/// One drill, from the fresh file to the verdict.
class Drill {
 public:
  Drill(const Checkout& checkout, const DrillTask& chosen)
      : checkout_(checkout), lesson_(*chosen.lesson), task_(*chosen.task) {
    const fs::path kept =
        write_drill(checkout_, lesson_, drill_files(checkout_, lesson_, task_.id, chosen.lesson_passed));
    if (!kept.empty()) fmt::print("your last drill of lesson {} is kept in {}\n", lesson_.id, kept.string());
    for (const std::string& file : lesson_.files)
      files_.push_back(checkout_.root / drill_folder(lesson_) / file);
  }

  /// Compiles what can be compiled before the clock starts.
  void prepare() const {
    if (const std::string why = checkout_.build_obstacle(lesson_); !why.empty())
      throw Unavailable("drill " + name() + " cannot be played: " + why);
    require_built(compile({target_, "judge_" + lesson_.tag(), built_in_player(tree(), lesson_).filename()}),
                  "the drill");
  }

  void introduce() const {
    const std::string title = fmt::format("drill {}, {}: {}", name(), lesson_.title, task_.name);
    fmt::print("{}\n\n", fitted(painted(title, Colour::Bold)));
    for (const Contract& contract : contracts_of(checkout_, lesson_, task_.id))
      fmt::print("{}\n", fitted(contract.text, wrapped_comments));
    for (const fs::path& file : files_)
      fmt::print("write it in {}\n", fs::relative(file, checkout_.root).string());
    const std::string rules = fmt::format(
        "the clock runs; each save is checked; ./course hint {} in another terminal explains a failure; "
        "Ctrl-C gives up\n",
        name());
    fmt::print("{}", fitted(rules));
    std::fflush(stdout);
  }

  /// Returns when a save passes. Throws Interrupted.
  void run() {
    keep_for_hint({});
    FileWatcher watcher(files_);
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
  fs::path subject() const { return library_of(tree(), lesson_, "drill"); }
  double elapsed() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  BuildResult compile(const std::vector<std::string>& targets) const {
    return build_as_saved({checkout_.root, tree(), targets, "drill " + name()}, files_, subject());
  }

  bool passes() const {
    const BuildResult built = compile({target_});
    const std::string diagnostics = student_diagnostics(built.steps, target_, checkout_.root);
    std::fputs((built.succeeded ? diagnostics : abridged(diagnostics, target_, checkout_.root)).c_str(),
               stderr);
    if (!built.succeeded) {
      if (diagnostics.empty()) complain("the drill could not be built:\n" + failure_text(built));
      return false;
    }
    const std::vector<std::string> tests = selected_tests(lesson_, task_.id);
    const TestResults results = grade(checkout_, {.lesson = &lesson_,
                                                  .tests = tests,
                                                  .tree = tree(),
                                                  .subject = subject(),
                                                  .player = {built_in_player(tree(), lesson_)}});
    const bool passed = all_passed(tests, results);
    keep_for_hint(passed ? TestResults() : results);
    return passed;
  }

  /// ./course hint explains what a drill failed by until the next one or a check.
  void keep_for_hint(const TestResults& failed) const {
    update_progress(checkout_, [&](Progress& progress) {
      progress.drilled.erase(lesson_.id);
      if (!failed.empty()) progress.drilled[lesson_.id] = failed;
    });
  }

  void conclude(bool passed) const {
    remember_drill(checkout_, {lesson_.id, task_.id, local_time("%Y-%m-%d %H:%M:%S"),
                               std::round(stopped_at_ * 10) / 10, checks_, passed});
    const std::string time = duration(stopped_at_);
    fmt::print("\n{}\n{}",
               passed ? painted(fmt::format("drill {} passed in {}", name(), time), Colour::Green)
                      : fmt::format("drill {} given up after {}", name(), time),
               drill_list(drills_of(read_drills(checkout_), lesson_.id, task_.id)));
  }

  const Checkout& checkout_;
  const LessonInfo& lesson_;
  const TaskInfo& task_;
  const std::string target_ = subject_target(lesson_, "drill");
  std::vector<fs::path> files_;
  Clock::time_point start_;
  double stopped_at_ = 0;
  int checks_ = 0;
};

int print_history(const Checkout& checkout, const std::string& argument) {
  const LessonChoice choice = choice_of(checkout, argument);
  const std::vector<DrillRecord> drills =
      drills_of(read_drills(checkout), choice.lesson == nullptr ? "" : choice.lesson->id, choice.task);
  fmt::print("{}", drills.empty() ? fmt::format("no drill yet; ./course drill{} starts one\n",
                                                argument.empty() ? "" : " " + argument)
                                  : fitted(drill_table(drills, checkout.lessons)));
  return succeeded;
}

/// The functions that a task's contracts declare.
std::vector<std::string> functions_of(const Checkout& checkout, const LessonInfo& lesson,
                                      const TaskInfo& task) {
  std::vector<std::string> functions;
  for (const Contract& contract : contracts_of(checkout, lesson, task.id))
    functions.push_back(contract.function);
  if (!functions.empty()) return functions;
  throw std::runtime_error("no header in " + Checkout::lesson_folder(lesson).string() + " declares task " +
                           task.id);
}

/// The student's own text with the functions' bodies emptied; as it is where none is in it.
std::string emptied(std::string text, const std::vector<std::string>& functions, const TaskInfo& task) {
  const std::string not_implemented = "#include \"lesson/not_implemented.hpp\"\n";
  for (const std::string& function : functions) {
    if (!definition_line(text, function)) continue;
    if (text.find(not_implemented) == std::string::npos) text = not_implemented + text;
    text = with_body(text, function,
                     "throw course::NotImplemented(\"task " + task.id + ", " + task.name + "\");");
  }
  return text;
}

/// Says of a file to drill with which functions are not shown in it.
std::string note_on(const std::vector<std::string>& neighbours) {
  return neighbours.empty() ? ""
                            : "// " + listed(neighbours) + (neighbours.size() == 1 ? " is" : " are") +
                                  " written elsewhere and can be called.\n\n";
}

/// A file of the lesson's that is solved, in two: without the other tasks' functions, and with these alone.
DrillFile drill_file(const std::string& file, std::string to_write, std::string solved,
                     const std::vector<std::string>& drilled, const std::vector<std::string>& others) {
  std::vector<std::string> hidden;
  for (const std::string& function : others) {
    if (!definition_line(to_write, function)) continue;
    hidden.push_back(function);
    to_write = without_definition(to_write, function);
  }
  for (const std::string& function : drilled) solved = without_definition(solved, function);
  // Helpers that only the drilled functions used stay behind there.
  std::string unused;
  for (const char* what : {"function", "variable", "const-variable"})
    unused += fmt::format("#pragma GCC diagnostic ignored \"-Wunused-{}\"\n", what);
  return {file, note_on(hidden) + to_write, unused + solved};
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

fs::path drill_folder(const LessonInfo& lesson) {
  return fs::path(".course") / "drill" / lesson.folder();
}

std::string drill_to_begin(const Checkout& checkout, const std::string& argument) {
  const DrillTask chosen = choose_drill(checkout, argument);
  return chosen.lesson->id + "." + chosen.task->id;
}

std::vector<DrillFile> drill_files(const Checkout& checkout, const LessonInfo& lesson, const std::string& id,
                                   bool passed) {
  const TaskInfo& task = lesson.task(id);
  const std::vector<std::string> drilled = functions_of(checkout, lesson, task);
  std::vector<std::string> others;
  for (const TaskInfo& other : lesson.tasks) {
    if (other.id != id) std::ranges::copy(functions_of(checkout, lesson, other), std::back_inserter(others));
  }
  std::vector<DrillFile> files;
  for (const std::string& file : lesson.files) {
    const fs::path solution = Checkout::solution_file(lesson, file);
    if (fs::exists(checkout.root / solution)) {
      const std::string solved = read_text(checkout.root / solution);
      files.push_back(drill_file(file, skeleton_of(solved), unmarked(solved), drilled, others));
    } else if (passed) {
      const std::string own = read_text(checkout.root / Checkout::student_file(lesson, file));
      files.push_back(drill_file(file, emptied(own, drilled, task), own, drilled, others));
    } else {
      throw Unavailable("a drill starts from the solution or from your own answer; this checkout has no " +
                        solution.string() + ", and lesson " + lesson.id + " is not passed as it stands");
    }
  }
  return files;
}

fs::path write_drill(const Checkout& checkout, const LessonInfo& lesson,
                     const std::vector<DrillFile>& files) {
  const fs::path backup =
      unused_path(checkout.state() / "backup" / lesson.folder() / ("drill-" + timestamp()));
  bool kept = false;
  for (const DrillFile& file : files) {
    const fs::path path = checkout.root / drill_folder(lesson) / file.file;
    if (fs::exists(path) && read_text(path) != file.text) {
      write_text(backup / file.file, read_text(path));
      kept = true;
    }
    write_text(path, file.text);
    write_text(path.parent_path() / "neighbours" / file.file, file.neighbours);
  }
  return kept ? fs::relative(backup, checkout.root) : fs::path();
}

}  // namespace course::program
