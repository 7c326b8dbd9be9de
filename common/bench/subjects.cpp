#include "bench/subjects.hpp"

#include <fmt/format.h>

namespace course::bench {

Subjects choose_subjects(const std::vector<BenchLesson>& lessons, bool mine) {
  Subjects subjects;
  for (const BenchLesson& lesson : lessons) {
    if (lesson.id.empty()) {
      subjects.left_out.push_back(
          fmt::format("the lesson of {} is left out: this handout does not hold it", in_words(lesson.role)));
    } else if (lesson.solved && !mine) {
      subjects.chosen[lesson.role] = "solution";
    } else if (lesson.passed) {
      subjects.chosen[lesson.role] = "student";
    } else {
      subjects.left_out.push_back(
          fmt::format("lesson {0} is left out: yours is not passed as it stands{1}: "
                      "./course check {0}",
                      lesson.id, mine ? "" : ", and its solution is not here"));
    }
  }
  return subjects;
}

}  // namespace course::bench
