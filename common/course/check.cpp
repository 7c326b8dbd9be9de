#include "course/check.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "course/build.hpp"
#include "course/diagnostics.hpp"
#include "course/errors.hpp"
#include "course/grading.hpp"
#include "course/lesson_argument.hpp"
#include "course/next_step.hpp"
#include "course/progress.hpp"
#include "course/report_json.hpp"
#include "course/standing.hpp"
#include "course/terminal.hpp"
#include "course/words.hpp"

namespace course::program {

namespace fs = std::filesystem;
using Results = std::map<std::string, TestResult>;

namespace {

/// One call of ./course check.
class Check {
 public:
  Check(const Checkout& checkout, const CheckOptions& options)
      : checkout_(checkout), options_(options), choice_(choose(checkout, options)), lesson_(*choice_.lesson) {
    tests_ = selected_tests(lesson_, {choice_.task, options.ranks});
  }

  int run() {
    if (const std::string obstacle = checkout_.obstacle(lesson_); !obstacle.empty()) return skip(obstacle);
    if (options_.sanitize && lesson_.needs_mpi()) {
      throw Unavailable(
          "--sanitize is for lessons on one rank: Open MPI itself is not built for sanitizers, and lesson " +
          lesson_.id + " needs it");
    }
    if (options_.player) return check_with_own_player(words_of(*options_.player));
    files_ = look_at_files(checkout_, lesson_);
    if (!files_.missing.empty() || files_.untouched) return report({});
    const BuildResult built = build_lesson("lesson" + lesson_.id + "_check");
    const std::string diagnostics = student_diagnostics(built.steps, lesson_, checkout_.root);
    std::fputs(diagnostics.c_str(), stderr);
    if (!built.succeeded && diagnostics.empty()) judge_not_built(built);
    const LessonRecord record = built.succeeded ? LessonRecord{files_.hash, "", grade(checkout_, order())}
                                                : LessonRecord{files_.hash, first_error(diagnostics), {}};
    remember(record);
    return report(record.tests);
  }

 private:
  static LessonChoice choose(const Checkout& checkout, const CheckOptions& options) {
    LessonChoice choice = choose_lesson(checkout.lessons, options.lesson);
    if (!choice.task.empty() && !options.task.empty() && choice.task != options.task) {
      throw UsageError("task " + choice.task + " in '" + options.lesson + "' contradicts --task " +
                       options.task);
    }
    if (!options.task.empty()) choice.task = options.task;
    if (options.sanitize && options.player) {
      throw UsageError("--sanitize is about the built-in player; it does not go with --player");
    }
    return choice;
  }

  fs::path tree() const { return options_.sanitize ? checkout_.build() / "sanitize" : checkout_.build(); }

  BuildResult build_lesson(const std::string& target) const {
    if (options_.sanitize) configure(checkout_.root, tree(), {"--preset", "sanitize"});
    return build({checkout_.root, tree(), {target}, "lesson " + lesson_.id});
  }

  [[noreturn]] void judge_not_built(const BuildResult& built) const {
    throw std::runtime_error("the judge of lesson " + lesson_.id + " could not be built:\n" +
                             failure_text(built));
  }

  GradingOrder order() const {
    return {&lesson_,
            tests_,
            tree(),
            tree() / "lib" / ("lesson" + lesson_.id + "_student.so"),
            {tree() / "bin" / (lesson_.needs_mpi() ? "player_mpi" : "player_solo")},
            options_.seed,
            options_.json};
  }

  /// The results become part of what is known of these files; what was known of other contents is forgotten.
  void remember(const LessonRecord& now) const {
    update_progress(checkout_, [&](Progress& progress) {
      LessonRecord& known = progress.lessons[lesson_.id];
      if (known.hash != now.hash || !now.build_error.empty() || !known.build_error.empty()) {
        known = {now.hash, now.build_error, {}};
      }
      for (const auto& [name, result] : now.tests) known.tests[name] = result;
    });
  }

  int skip(const std::string& why) const {
    if (options_.json) fmt::print("{}\n", report_json({standing_of(lesson_, files_, nullptr, why)}));
    throw Unavailable("lesson " + lesson_.id + " is skipped: " + why);
  }

  /// Someone's player in another language: the student's C++ files have no part in it, and nothing is
  /// remembered.
  int check_with_own_player(std::vector<std::string> player) const {
    const BuildResult built = build_lesson("judge_lesson" + lesson_.id);
    if (!built.succeeded) judge_not_built(built);
    GradingOrder own = order();
    own.player = std::move(player);
    own.subject = Checkout::lesson_folder(lesson_);
    const LessonRecord record{"", "", grade(checkout_, own)};
    return conclude(standing_of(lesson_, {}, &record, ""), record.tests);
  }

  int report(const Results& results) const {
    return conclude(standing_of(checkout_, lesson_, read_progress(checkout_)), results);
  }

  /// The exit code is for what was asked for, which may be less than the lesson.
  int conclude(const LessonStanding& standing, const Results& results) const {
    if (options_.json) {
      fmt::print("{}\n", report_json({standing}));
    } else {
      fmt::print("{}", verdict_text(checkout_, standing));
    }
    const bool passed = std::all_of(tests_.begin(), tests_.end(), [&](const std::string& test) {
      const auto found = results.find(test);
      return found != results.end() && found->second.status == Status::Passed;
    });
    return passed ? succeeded : failed;
  }

  const Checkout& checkout_;
  const CheckOptions& options_;
  LessonChoice choice_;
  const LessonInfo& lesson_;
  std::vector<std::string> tests_;
  LessonFiles files_;
};

}  // namespace

int check(const Checkout& checkout, const CheckOptions& options) {
  return Check(checkout, options).run();
}

}  // namespace course::program
