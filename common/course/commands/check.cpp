#include <fmt/core.h>

#include "course/build/build.hpp"
#include "course/commands/commands.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/cuda_device.hpp"
#include "course/workspace/file_watcher.hpp"
#include "course/workspace/judging.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "protocol/errors.hpp"
#include "runner/subprocess.hpp"
#include "runner/temporary_folder.hpp"
#include "text/text_file.hpp"

namespace course::program {

namespace fs = std::filesystem;

namespace {

/// A sanitizer's report reads the program's debug information before it says anything.
constexpr std::optional<double> sanitized_quiet_limit_s = 30;
constexpr std::uintmax_t room_to_compile = std::uintmax_t{64} << 20;

/// One call of ./course check.
class Check {
 public:
  Check(const Checkout& checkout, const CheckOptions& options)
      : checkout_(checkout),
        options_(options),
        choice_(choose_lesson(checkout.lessons, options.lesson, options.task)),
        lesson_(*choice_.lesson),
        tests_(selected_tests(lesson_, choice_.task, options.ranks)) {}

  int run() {
    if (options_.json && options_.problems)
      throw UsageError("--json prints one object and nothing else; it does not go with --problems");
    if (options_.player && (options_.sanitize || options_.backend))
      throw UsageError(std::string(options_.sanitize ? "--sanitize" : "--backend") +
                       " is about the built-in player; it does not go with --player");
    if (options_.backend && !lesson_.needs_gpu())
      throw UsageError("--backend is for lessons that need a GPU; lesson " + lesson_.id + " needs none");
    if (options_.transport && (options_.backend != Backend::Cuda || !lesson_.needs_mpi()))
      throw UsageError(
          "--transport is about messages between CUDA devices: expected --backend cuda and a lesson on "
          "several "
          "ranks");
    if (const std::string obstacle = checkout_.build_obstacle(lesson_); !obstacle.empty())
      return skip(obstacle);
    if (options_.sanitize && lesson_.needs_gpu()) {
      throw Unavailable(
          "--sanitize is for lessons without a GPU: the simulator is not built for sanitizers, and lesson " +
          lesson_.id + " needs it");
    }
    if (options_.player) return check_with_own_player(*options_.player);
    if (options_.backend == Backend::Cuda) return check_on_device();
    const LessonFiles files = look_at_files(checkout_, lesson_);
    if (!files.missing.empty() || files.untouched) return report({});
    const BuildResult built = build_student();
    const std::string target = subject_target(lesson_, "student");
    const std::string diagnostics = student_diagnostics(built.steps, target, checkout_.root);
    const bool in_full = built.succeeded || options_.problems;  // warnings; an editor wants every line
    std::fputs((in_full ? diagnostics : abridged(diagnostics, target, checkout_.root)).c_str(), stderr);
    if (!built.succeeded) require_room_to_compile();
    if (diagnostics.empty()) require_built(built, judge_in_words());
    LessonRecord record{built.hash, "", {}};
    if (built.succeeded) {
      record.tests = grade(checkout_, order());
    } else {
      record.build_error = first_error(diagnostics);
    }
    remember(record);
    return report(record.tests);
  }

 private:
  fs::path tree() const { return options_.sanitize ? checkout_.build() / "sanitize" : checkout_.build(); }
  fs::path subject() const { return library_of(tree(), lesson_, "student"); }
  std::string judge_in_words() const { return "the judge of lesson " + lesson_.id; }

  BuildOrder build_order(const fs::path& in, const std::vector<std::string>& targets) const {
    return {checkout_.root, in, targets, "lesson " + lesson_.id};
  }

  void build_judge() const {
    require_built(build(build_order(checkout_.build(), {"judge_" + lesson_.tag()})), judge_in_words());
  }

  /// With sanitizers only what runs the student's code is built again: a judge takes minutes.
  BuildResult build_student() const {
    std::vector<fs::path> sources;
    for (const std::string& file : lesson_.files)
      sources.push_back(checkout_.root / Checkout::student_file(lesson_, file));
    std::vector<std::string> targets{lesson_.tag() + "_check"};
    if (options_.sanitize) {
      configure(checkout_.root, tree(), {"--preset", "sanitize"});
      build_judge();
      targets = {subject_target(lesson_, "student"), built_in_player(tree(), lesson_).filename()};
    }
    return build_as_saved(build_order(tree(), targets), sources, subject());
  }

  /// Throws Unavailable where a build may have failed for want of room, for which no answer is to blame.
  void require_room_to_compile() const {
    TemporaryFolder().require_room(room_to_compile);
    std::error_code unknown;
    const fs::space_info space = fs::space(tree(), unknown);
    if (unknown || space.available >= room_to_compile) return;
    throw Unavailable(fmt::format("{} has {} KiB left, expected at least {} KiB to compile in",
                                  tree().string(), space.available >> 10, room_to_compile >> 10));
  }

  GradingOrder order() const {
    return {.lesson = &lesson_,
            .tests = tests_,
            .tree = checkout_.build(),
            .subject = subject(),
            .player = {built_in_player(tree(), lesson_)},
            .seed = options_.seed,
            .keep = ".course/cases",
            .quiet = options_.json,
            .quiet_limit_s = options_.sanitize ? sanitized_quiet_limit_s : std::nullopt};
  }

  /// The results become part of what is known of these files; what was known of other contents is forgotten.
  void remember(const LessonRecord& now) const {
    update_progress(checkout_, [&](Progress& progress) {
      progress.drilled.erase(lesson_.id);
      LessonRecord& known = progress.lessons[lesson_.id];
      if (known.hash != now.hash || !now.build_error.empty() || !known.build_error.empty())
        known = {now.hash, now.build_error, {}};
      for (const auto& [name, result] : now.tests) known.tests[name] = result;
      if (known.build_error.empty() && lesson_status_of(lesson_, known.tests).status == Status::Passed)
        progress.passed[lesson_.id] = known;
    });
  }

  int skip(const std::string& why) const {
    if (options_.json)
      fmt::print("{}\n", report_json({lesson_status_as_a_whole(lesson_, Status::Skipped, why)}));
    throw Unavailable("lesson " + lesson_.id + " is skipped: " + why);
  }

  /// Someone's player in another language: the student's C++ files have no part in it, and nothing is
  /// remembered.
  int check_with_own_player(const std::string& player) const {
    GradingOrder own = order();
    own.player = own_player(player);
    own.replay_options = "--player " + shell_word(player);
    build_judge();
    own.subject = Checkout::lesson_folder(lesson_);
    const TestResults results = grade(checkout_, own);
    const LessonStatus lesson_status = lesson_status_of(lesson_, results);
    return conclude(lesson_status, apart_text(lesson_status, "with your own player"), results);
  }

  /// On this machine's device, where less is looked at than in the simulator: nothing is remembered.
  int check_on_device() const {
    if (options_.sanitize)
      throw UsageError("--sanitize is about code on the host; it does not go with --backend cuda");
    if (const std::string obstacle = cuda_obstacle(); !obstacle.empty())
      throw Unavailable("lesson " + lesson_.id + " is not played on a CUDA device: " + obstacle);
    GradingOrder on_device = order();
    on_device.subject = library_of(tree(), lesson_, "student_cuda");
    const Transport transport = options_.transport.value_or(Transport::Nccl);
    on_device.player = player_on_devices(tree(), lesson_, lesson_.most_ranks(), transport);
    std::vector<std::string> targets{"judge_" + lesson_.tag(), subject_target(lesson_, "student_cuda"),
                                     lesson_.player(Backend::Cuda)};
    if (transport == Transport::Host) targets.push_back(staged_nccl_target);
    require_built(build(build_order(tree(), targets)), "lesson " + lesson_.id + " for CUDA");
    const TestResults results = grade(checkout_, on_device);
    const LessonStatus lesson_status = lesson_status_of(lesson_, results);
    return conclude(lesson_status, apart_text(lesson_status, "on this machine's CUDA device"), results);
  }

  int report(const TestResults& results) const {
    update_progress(checkout_, [&](Progress& progress) { progress.current = lesson_.id; });
    const LessonStatus lesson_status = lesson_status_of(checkout_, lesson_, read_progress(checkout_));
    return conclude(lesson_status, verdict_text(checkout_, lesson_status, choice_.task), results);
  }

  /// The exit code is for what was asked for, which may be less than the lesson.
  int conclude(const LessonStatus& lesson_status, const std::string& verdict,
               const TestResults& results) const {
    if (options_.problems) print_problems(lesson_status);
    fmt::print("{}", options_.json ? report_json({lesson_status}) + "\n" : fitted(verdict));
    return all_passed(tests_, results) ? succeeded : failed;
  }

  /// For editors. What does not compile has the compiler's own lines.
  void print_problems(const LessonStatus& lesson_status) const {
    if (!lesson_status.obstacle.empty()) return;
    std::fflush(stdout);
    for (const TaskStatus& task : lesson_status.tasks) {
      if (task.status == Status::Passed) continue;
      const TaskPlace place = task_place(checkout_, lesson_, task.task->id);
      fmt::print(stderr, "{}\n", problem_line(place, lesson_, task));
    }
  }

  const Checkout& checkout_;
  const CheckOptions& options_;
  LessonChoice choice_;
  const LessonInfo& lesson_;
  std::vector<std::string> tests_;
};

/// A line at a time of day, to find one's way in a long output.
void print_now(const std::string& what) {
  fmt::print("{}\n", painted(local_time("%H:%M:%S") + "  " + what, Colour::Bold));
  std::fflush(stdout);
}

bool passes(const Checkout& checkout, const CheckOptions& options) {
  try {
    const bool passed = check(checkout, options) == succeeded;
    std::fflush(stdout);
    return passed;
  } catch (const std::runtime_error& error) {
    complain(error.what());  // the next save may mend it
    return false;
  }
}

/// Returns when the lesson has passed a check.
void watch_until_passed(const Checkout& checkout, const LessonInfo& lesson, bool problems,
                        bool check_at_once) {
  const CheckOptions options{.lesson = lesson.id, .problems = problems};
  std::vector<std::filesystem::path> files;
  for (const std::string& file : lesson.files) files.push_back(Checkout::student_file(lesson, file));
  print_now(fmt::format("watching {}: each save is checked; Ctrl-C ends this",
                        joined(
                            files, [](const auto& file) { return file.string(); }, " and ")));
  for (std::filesystem::path& file : files) file = checkout.root / file;
  FileWatcher watcher(files);
  if (check_at_once && passes(checkout, options)) return;
  do {
    watcher.wait();
    print_now("saved; checking lesson " + lesson.id);
  } while (!passes(checkout, options));
}

/// What ./course says is next.
const LessonInfo* next_lesson(const Checkout& checkout) {
  const std::vector<LessonStatus> lesson_statuses = all_lesson_statuses(checkout);
  const LessonStatus* next = next_open(lesson_statuses, read_progress(checkout).current);
  return next == nullptr ? nullptr : next->lesson;
}

}  // namespace

std::string problem_line(const TaskPlace& place, const LessonInfo& lesson, const TaskStatus& task) {
  return fmt::format("{}:{}: {}: {}.{}: {}", place.file.string(), place.line,
                     task.status == Status::Todo ? "warning" : "error", lesson.tag(), task.task->id,
                     joined(lines_of(task.diagnosis), {}, "; "));
}

int check(const Checkout& checkout, const CheckOptions& options) {
  return Check(checkout, options).run();
}

int watch(const Checkout& checkout, const std::string& argument, bool problems) {
  const LessonInfo* lesson =
      argument.empty() ? next_lesson(checkout) : &choose_whole_lesson(checkout.lessons, argument, "watch");
  const Interruptible until_ctrl_c;
  bool first = true;
  while (lesson != nullptr) {
    const LessonStatus now = lesson_status_of(checkout, *lesson, read_progress(checkout));
    if (now.status == Status::Skipped)
      throw Unavailable("lesson " + lesson->id + " is skipped: " + now.tasks.front().diagnosis);
    // A lesson that is passed and named all the same is there to be worked on. Of a skeleton one is told
    // once.
    const bool check_at_once = now.status == Status::Failed || (first && now.status == Status::Todo);
    watch_until_passed(checkout, *lesson, problems, check_at_once);
    lesson = next_lesson(checkout);
    first = false;
  }
  fmt::print("every lesson that this machine can play is passed; there is nothing to watch\n");
  return succeeded;
}

}  // namespace course::program
