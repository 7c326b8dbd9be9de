#include "grader/grade_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "course/build/build.hpp"
#include "course/terminal/terminal.hpp"
#include "course/workspace/lesson_argument.hpp"
#include "grader/batch.hpp"
#include "grader/confined_run.hpp"
#include "grader/points.hpp"
#include "grader/report.hpp"
#include "grader/submission.hpp"
#include "protocol/errors.hpp"
#include "text/text_file.hpp"

namespace course::grader {

namespace fs = std::filesystem;
using program::Checkout;

namespace {

std::vector<LessonInfo> chosen_lessons(const std::vector<LessonInfo>& all,
                                       const std::vector<std::string>& arguments) {
  if (arguments.empty()) return all;
  std::vector<LessonInfo> chosen;
  for (const std::string& argument : arguments) {
    chosen.push_back(program::choose_whole_lesson(all, argument, "grade"));
  }
  return chosen;
}

/// What grades are played with: everything of a lesson but its student's files.
void build_tools(const Checkout& checkout) {
  std::vector<std::string> targets{"tensor", "player_solo"};
  for (const LessonInfo& lesson : checkout.lessons) {
    if (!checkout.obstacle(lesson).empty()) continue;
    targets.insert(targets.end(), {"judge_" + lesson.tag(), lesson.tag() + "_adapter"});
    if (lesson.needs_mpi()) targets.emplace_back("player_mpi");
  }
  const program::BuildResult built =
      program::build({checkout.root, checkout.build(), targets, "what grades"});
  if (!built.succeeded)
    throw std::runtime_error("the judges could not be built:\n" + program::failure_text(built));
}

/// The isolation asked for, or the strongest there is. To do without is a decision that somebody takes.
Isolation chosen_isolation(const std::optional<std::string>& asked) {
  if (!asked) {
    const Isolation strongest = strongest_isolation();
    if (strongest != Isolation::None) return strongest;
    throw Unavailable("submissions cannot be isolated here: " + obstacle(Isolation::Namespaces) + "; " +
                      obstacle(Isolation::User) +
                      "; --isolation none grades all the same, code that you trust");
  }
  const Isolation isolation = isolation_named(*asked);
  if (const std::string why = obstacle(isolation); !why.empty()) {
    throw Unavailable("--isolation " + *asked + ": " + why);
  }
  return isolation;
}

/// A judge that fails takes no other lesson's grade with it.
LessonGrade graded_or_skipped(const Checkout& checkout, const LessonInfo& lesson, const fs::path& folder,
                              const GradingManifest& manifest) {
  try {
    return grade_lesson(checkout, lesson, folder, manifest);
  } catch (const std::runtime_error& error) {
    const std::string why = std::string("could not be graded: ") + error.what();
    program::complain("lesson " + lesson.id + " " + why);
    LessonGrade grade{program::lesson_status_as_a_whole(lesson, program::Status::Skipped, why), {}};
    grade.failed = true;
    return grade;
  }
}

Report grade_submission(const Checkout& checkout, const fs::path& folder, const GradingManifest& manifest) {
  const auto begin = std::chrono::steady_clock::now();
  Report report{
      fs::absolute(folder).lexically_normal().filename(), manifest, files_hash(folder, checkout.lessons), {}};
  if (report.submission.empty())
    report.submission = fs::absolute(folder).lexically_normal().parent_path().filename();
  const auto seconds = [&begin] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  for (const LessonInfo& lesson : checkout.lessons) {
    const double before = seconds();
    report.lessons.push_back(graded_or_skipped(checkout, lesson, folder, manifest));
    report.lessons.back().seconds = seconds() - before;
  }
  report.seconds = seconds();
  return report;
}

std::string formatted(const Report& report, const std::string& format) {
  if (format == "json") return json_report(report) + "\n";
  if (format == "junit") return junit_report(report);
  if (format == "gradescope") return gradescope_report(report) + "\n";
  return text_report(report);
}

void announce(Isolation isolation, const Checkout& checkout) {
  program::complain("isolation: " + to_string(isolation));
  if (isolation == Isolation::Namespaces) return;
  const Confinement confinement(isolation, {});
  const fs::path solutions = checkout.root / "solutions";
  if (isolation == Isolation::None || readable_confined(confinement, solutions)) {
    program::complain("submitted code can read " + solutions.string() +
                      (isolation == Isolation::None ? "" : ": chmod o-rx the checkout to prevent it"));
  }
}

}  // namespace

int grade(Checkout checkout, const GradeOptions& options) {
  if (options.submission && options.submissions) throw UsageError("--submission contradicts --submissions");
  if (options.submissions && (options.format == "junit" || options.format == "gradescope"))
    throw UsageError("--format " + options.format +
                     " is of one submission; --submissions writes JSON reports");
  // First, so that one file of points serves assignments of single lessons.
  if (options.points) override_points(checkout.lessons, *options.points);
  checkout.lessons = chosen_lessons(checkout.lessons, options.lessons);
  const Isolation isolation = chosen_isolation(options.isolation);
  if (!options.prepared) {
    announce(isolation, checkout);
    build_tools(checkout);
  }
  GradingManifest manifest{options.seed.value_or(0),   isolation,
                           commit_of(checkout),        judges_hash(checkout),
                           compiler_version(checkout), scope_of(checkout.lessons)};
  if (options.submissions) return grade_all(checkout, options, manifest);
  if (!options.seed) manifest.seed = drawn_seed();
  const fs::path folder = options.submission.value_or(checkout.root);
  if (!fs::is_directory(folder)) throw UsageError("--submission: " + folder.string() + " is not a folder");
  const Report report = grade_submission(checkout, folder, manifest);
  const std::string text = formatted(report, options.format);
  if (options.output) {
    write_text(*options.output, text);
  } else {
    fmt::print("{}", text);
  }
  return report.is_complete() ? succeeded : failed;
}

}  // namespace course::grader
