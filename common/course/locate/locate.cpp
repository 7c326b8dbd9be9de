#include "course/locate/locate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <regex>
#include <set>
#include <stdexcept>
#include <thread>

#include "course/build/build.hpp"
#include "course/commands/commands.hpp"
#include "course/locate/edited_build.hpp"
#include "course/locate/small_edits.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/case.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

using Clock = std::chrono::steady_clock;

/// An edit may loop, or wait for a message, for ever.
constexpr double quiet_limit_s = 2;
/// Places that settle one input only: more than these are no lead.
constexpr std::size_t most_partial = 3;

/// One of the lesson's files and an edit of it.
struct Trial {
  const EditedBuild* build;
  const Code* code;
  fs::path file;  ///< from the root
  SmallEdit edit;
};

/// Of UTF-8: a byte that is not a character's first.
bool is_within_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

enum class Outcome { Fails, RightOnOneInput, Passes };

/// The failure to be located.
struct Failure {
  const LessonInfo* lesson;
  std::string task;
  fs::path kept;                   ///< the case that the task is first tried on
  std::vector<std::string> tests;  ///< the task's
  std::set<std::string> words;     ///< of the check's diagnosis
};

/// The names that a diagnosis may mean: its words but those that are C++'s own.
std::set<std::string> words_of(const std::string& diagnosis) {
  static const std::regex word("[A-Za-z_][A-Za-z_0-9]*");
  std::set<std::string> all;
  for (std::sregex_iterator i(diagnosis.begin(), diagnosis.end(), word), end; i != end; ++i)
    all.insert(i->str());
  for (const char* keyword :
       {"if", "else", "for", "while", "do", "return", "this", "new", "float", "int", "not", "or", "and"})
    all.erase(keyword);
  return all;
}

class Locator {
 public:
  Locator(const Checkout& checkout, const LocateOptions& options)
      : checkout_(checkout), options_(options), failure_(find_failure()) {}

  int run() {
    const std::vector<Trial> trials = all_trials();
    fmt::print(
        stderr,
        "course: task {} of lesson {}: up to {} small changes of your file are tried, for {} at most\n",
        failure_.task, failure_.lesson->id, trials.size(), duration(options_.seconds));
    try_all(trials);
    if (found_) {
      fmt::print(
          "{}", place_text(trials[*found_],
                           fmt::format("with one change here, every test of task {} passes", failure_.task)));
      return succeeded;
    }
    return tell_partial(trials);
  }

 private:
  // ---- what fails ----

  GradingOrder order(const LessonInfo& lesson, const std::vector<std::string>& tests,
                     const fs::path& subject) const {
    return {.lesson = &lesson,
            .tests = tests,
            .tree = checkout_.build(),
            .subject = subject,
            .player = {built_in_player(checkout_.build(), lesson)},
            .quiet = true,
            .quiet_limit_s = quiet_limit_s};
  }

  Failure find_failure() const {
    const LessonChoice choice = choose_lesson(checkout_.lessons, options_.lesson, options_.task);
    const LessonInfo& lesson = *choice.lesson;
    if (const std::string obstacle = checkout_.build_obstacle(lesson); !obstacle.empty())
      throw Unavailable("lesson " + lesson.id + " cannot be played: " + obstacle);
    require_written(lesson);
    require_compiled(lesson);
    GradingOrder all = order(lesson, selected_tests(lesson, choice.task, std::nullopt),
                             library_of(checkout_.build(), lesson, "student"));
    all.keep = folder_.path() / "cases";
    const LessonStatus status = lesson_status_of(lesson, grade(checkout_, all));
    const auto wrong = std::ranges::find_if(status.tasks, [&](const TaskStatus& task) {
      return task.is_wrong() && (choice.task.empty() || task.task->id == choice.task);
    });
    if (wrong == status.tasks.end()) throw nothing_fails(lesson);
    const fs::path kept = all.keep / (lesson.tag() + "." + wrong->test);
    if (!fs::exists(kept / "case.json"))
      throw Unavailable("the input that fails task " + wrong->task->id + " was not kept");
    return {&lesson, wrong->task->id, kept, test_names(*wrong->task), words_of(wrong->diagnosis)};
  }

  static UsageError nothing_fails(const LessonInfo& lesson) {
    return UsageError("no task of lesson " + lesson.id + " that is written fails: ./course check " +
                      lesson.id + " says how it stands");
  }

  void require_written(const LessonInfo& lesson) const {
    const LessonFiles files = look_at_files(checkout_, lesson);
    if (!files.missing.empty() || files.untouched) throw nothing_fails(lesson);
  }

  void require_compiled(const LessonInfo& lesson) const {
    const BuildResult built =
        build({checkout_.root, checkout_.build(), {lesson.tag() + "_check"}, "lesson " + lesson.id});
    if (!built.succeeded)
      throw std::runtime_error("lesson " + lesson.id + " does not compile: ./course check " + lesson.id +
                               " says where");
  }

  // ---- what is tried ----

  std::vector<Trial> all_trials() {
    const std::string function = read_manifest(failure_.kept).function;
    std::vector<Trial> trials;
    for (const std::string& name : failure_.lesson->files) {
      const fs::path file = Checkout::student_file(*failure_.lesson, name);
      const fs::path folder = folder_.path() / ("file" + std::to_string(codes_.size()));
      fs::create_directories(folder);
      builds_.push_back(std::make_unique<EditedBuild>(checkout_, *failure_.lesson, file, folder));
      codes_.push_back(std::make_unique<Code>(read_text(checkout_.root / file)));
      for (SmallEdit& edit : small_edits(*codes_.back(), function, failure_.words))
        trials.push_back({builds_.back().get(), codes_.back().get(), file, std::move(edit)});
    }
    if (trials.empty())
      throw Unavailable("there is nothing to change in the functions of lesson " + failure_.lesson->id +
                        ": they are empty, or the brackets of its file do not match outside #if");
    std::ranges::stable_sort(trials, {}, [](const Trial& trial) { return trial.edit.rank; });
    return trials;
  }

  void try_all(const std::vector<Trial>& trials) {
    const Interruptible until_ctrl_c;
    begin_ = Clock::now();
    const Clock::time_point end = begin_ + std::chrono::seconds(options_.seconds);
    std::vector<std::thread> workers;
    for (unsigned worker = 0; worker < std::max(1u, std::thread::hardware_concurrency()); ++worker)
      workers.emplace_back([&, worker] { work(trials, end, worker); });
    for (std::thread& worker : workers) worker.join();
    progress_.clear();
    if (thrown_) std::rethrow_exception(thrown_);
  }

  void work(const std::vector<Trial>& trials, Clock::time_point end, unsigned worker) {
    try {
      const fs::path folder = folder_.path() / ("worker" + std::to_string(worker));
      for (std::size_t i = next_++; i < trials.size() && Clock::now() < end && !over_; i = next_++) {
        fs::remove_all(folder);
        fs::create_directories(folder);
        const Outcome outcome = outcome_of(trials[i], folder, end);
        const std::scoped_lock lock(mutex_);
        if (outcome != Outcome::Passes && Clock::now() >= end) break;  // it may have been cut short
        ++tried_;
        progress_.show(fmt::format("tried {} of {} changes, {}", tried_, trials.size(),
                                   duration(std::chrono::duration<double>(Clock::now() - begin_).count())));
        if (outcome == Outcome::RightOnOneInput) partial_.push_back(i);
        if (outcome != Outcome::Passes) continue;
        if (!found_ || i < *found_) found_ = i;
        over_ = true;
      }
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      thrown_ = std::current_exception();
      over_ = true;
    }
  }

  /// What is played ends at `end`.
  Outcome outcome_of(const Trial& trial, const fs::path& folder, Clock::time_point end) const {
    const fs::path made = trial.build->make(trial.edit.applied_to(trial.code->source()), folder);
    if (made.empty()) return Outcome::Fails;
    // A copy under the name that tells the lesson: what is returned is written into it.
    const fs::path kept = folder / failure_.kept.filename();
    fs::copy(failure_.kept, kept, fs::copy_options::recursive);
    GradingOrder alone = order(*failure_.lesson, {}, made);
    alone.replayed = kept;
    if (!passes(alone, end)) return Outcome::Fails;
    for (const std::uint64_t seed : {1u, 2u}) {
      GradingOrder all = order(*failure_.lesson, failure_.tests, made);
      all.seed = seed;
      if (!passes(all, end)) return Outcome::RightOnOneInput;
    }
    return Outcome::Passes;
  }

  bool passes(GradingOrder asked, Clock::time_point end) const {
    asked.limit_s = std::chrono::duration<double>(end - Clock::now()).count();
    if (asked.limit_s <= 0) return false;
    try {
      const TestResults results = grade(checkout_, asked);
      return !results.empty() && std::ranges::all_of(results, [](const auto& test) {
        return test.second.status == Status::Passed;
      });
    } catch (const std::runtime_error&) {  // the judge has no word for what this edit does
      return false;
    }
  }

  // ---- what is said ----

  int tell_partial(const std::vector<Trial>& trials) {
    std::ranges::sort(partial_);
    std::vector<std::string> places;
    std::set<std::pair<fs::path, long>> lines;
    for (const std::size_t i : partial_) {
      if (lines.insert({trials[i].file, line_of(trials[i])}).second)
        places.push_back(place_text(
            trials[i], "with one change here, the input that was shown is right, and others are not"));
    }
    if (places.empty() || places.size() > most_partial) {
      fmt::print("none of {} small changes makes task {} pass: ", tried_, failure_.task);
      fmt::print(
          "{}\n",
          tried_ < trials.size()
              ? fmt::format("{} are left; --seconds {} tries more", trials.size() - tried_,
                            3 * options_.seconds)
              : "what is wrong is larger than one operator, name, bound or statement, or in two places");
      return failed;
    }
    fmt::print("none of {} small changes makes task {} pass; two mistakes, perhaps:\n{}", tried_,
               failure_.task, joined(places, {}, ""));
    return failed;
  }

  static long line_of(const Trial& trial) {
    const std::string& source = trial.code->source();
    return 1 +
           std::count(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(trial.edit.first), '\n');
  }

  /// The place as a compiler would show it.
  std::string place_text(const Trial& trial, const std::string& what) const {
    const std::string& source = trial.code->source();
    const SmallEdit& edit = trial.edit;
    const std::size_t line_begin = edit.first == 0 ? 0 : source.rfind('\n', edit.first - 1) + 1;
    const std::size_t line_end = std::min(source.find('\n', edit.first), source.size());
    const char* const how = edit.kind == SmallEdit::Kind::Missing ? "something is missing here"
                            : edit.kind == SmallEdit::Kind::Order
                                ? "this comes in another order, or stands elsewhere"
                                : "look here";
    const std::string number = std::to_string(line_of(trial)),
                      line = source.substr(line_begin, line_end - line_begin);
    const std::string shown =
        source.substr(edit.first, std::min(edit.last, line_end) - std::min(edit.first, line_end));
    std::string indent = source.substr(line_begin, edit.first - line_begin);
    std::erase_if(indent, is_within_character);
    std::ranges::replace_if(
        indent, [](char c) { return c != '\t'; }, ' ');
    const auto width = std::ranges::count_if(shown, [](char c) { return !is_within_character(c); });
    std::string text = fmt::format("{}:{}: {}: {}\n  {} | {}\n  {} | {}{}\n", trial.file.string(), number,
                                   how, what, number, line, std::string(number.size(), ' '), indent,
                                   std::string(static_cast<std::size_t>(std::max<long>(1, width)), '^'));
    if (options_.spoil)
      text += "  the change: " + (edit.text.empty() ? "nothing in its place" : edit.text) + "\n";
    return text;
  }

  const Checkout& checkout_;
  const LocateOptions& options_;
  TemporaryFolder folder_;
  const Failure failure_;
  std::vector<std::unique_ptr<EditedBuild>> builds_;
  std::vector<std::unique_ptr<Code>> codes_;

  Clock::time_point begin_;  ///< of the trials
  std::atomic<std::size_t> next_ = 0;
  std::atomic<bool> over_ = false;
  std::mutex mutex_;  ///< of all below
  ProgressLine progress_;
  std::size_t tried_ = 0;
  std::optional<std::size_t> found_;
  std::vector<std::size_t> partial_;
  std::exception_ptr thrown_;
};

}  // namespace

int locate(const Checkout& checkout, const LocateOptions& options) {
  return Locator(checkout, options).run();
}

}  // namespace course::program
