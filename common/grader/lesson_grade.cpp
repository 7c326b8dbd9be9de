#include "grader/lesson_grade.hpp"

#include <algorithm>

#include "course/workspace/lesson_argument.hpp"
#include "skeleton/skeleton.hpp"

namespace course::grader {

namespace fs = std::filesystem;
using program::Checkout;
using program::Status;

namespace {

bool is_untouched(const Checkout& checkout, const LessonInfo& lesson, const HandedIn& handed_in) {
  return std::ranges::all_of(handed_in.texts, [&](const auto& entry) {
    const std::optional<std::string> skeleton = checkout.skeleton(lesson, entry.first);
    return skeleton && same_code(entry.second, *skeleton);
  });
}

/// Why nothing of the lesson is played, and as what that counts; Passed: it is played.
std::pair<Status, std::string> look_at(const Checkout& checkout, const LessonInfo& lesson,
                                       const HandedIn& handed_in) {
  if (const std::string obstacle = checkout.obstacle(lesson); !obstacle.empty())
    return {Status::Skipped, obstacle};
  if (!handed_in.refusal.empty()) return {Status::Failed, "not taken: " + handed_in.refusal};
  if (!handed_in.missing.empty()) {
    return {handed_in.texts.empty() ? Status::Todo : Status::Failed,
            "not handed in: " + handed_in.missing.front()};
  }
  if (is_untouched(checkout, lesson, handed_in)) return {Status::Todo, "not written yet"};
  return {Status::Passed, ""};
}

}  // namespace

program::GradingOrder grading_order(const Checkout& checkout, const LessonInfo& lesson,
                                    const Workshop& workshop, const GradingManifest& manifest) {
  return {.lesson = &lesson,
          .tests = program::selected_tests(lesson),
          .tree = checkout.build(),
          .subject = workshop.subject(),
          .player = {workshop.player()},
          .seed = manifest.seed,
          .quiet = true,
          .confined_as = {{to_string(manifest.isolation), workshop.user()}},
          .hidden = true};
}

LessonGrade grade_lesson(const Checkout& checkout, const LessonInfo& lesson, const fs::path& submission,
                         const GradingManifest& manifest) {
  const HandedIn handed_in = take(submission, lesson);
  const auto [status, why] = look_at(checkout, lesson, handed_in);
  if (status != Status::Passed) return {program::lesson_status_as_a_whole(lesson, status, why), {}};
  Workshop workshop(checkout, lesson, manifest.isolation);
  const std::string obstacle = workshop.make(handed_in);
  if (!obstacle.empty()) return {program::lesson_status_as_a_whole(lesson, Status::Failed, obstacle), {}};
  const program::TestResults tests =
      program::grade(checkout, grading_order(checkout, lesson, workshop, manifest));
  return {program::lesson_status_of(lesson, tests), tests};
}

}  // namespace course::grader
