#include "course/workspace/whose_code.hpp"

#include "course/workspace/lesson_status.hpp"
#include "protocol/errors.hpp"

namespace course::program {

const LessonInfo& held_lesson(const Checkout& checkout, Role role, const std::string& command) {
  const LessonInfo* lesson = lesson_with(checkout.lessons, role);
  if (lesson != nullptr) return *lesson;
  throw Unavailable(command + " runs the lesson of " + in_words(role) + ", and this " +
                    (checkout.is_handout() ? "handout" : "checkout") + " does not hold it");
}

std::string runnable_subject(const Checkout& checkout, const LessonInfo& lesson, const Progress& progress,
                             const std::string& command) {
  if (lesson_status_of(checkout, lesson, progress).status == Status::Passed) return "student";
  if (checkout.has_solution(lesson)) return "solution";
  throw Unavailable(command + " runs your own lesson " + lesson.id + " (" + lesson.name +
                    ") where there is no solution, and it is not passed as it stands: ./course check " +
                    lesson.id);
}

std::string subject_target(const LessonInfo& lesson, const std::string& subject) {
  return lesson.tag() + "_" + subject;
}

}  // namespace course::program
