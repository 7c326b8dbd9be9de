#pragma once

#include "../course/lessons.hpp"
#include "grader/report.hpp"

namespace course::program::grader {

inline program::TestResult result(program::Status status, std::string text = "",
                                  std::vector<std::string> mistakes = {}) {
  return {status, std::move(text), std::move(mistakes)};
}

inline constexpr std::uint64_t secret_seed = 8'123'456'789'012'345;
inline constexpr const char* secret_value = "0.7310585786";

/// A grade as grade_lesson makes it from what a judge said of a lesson's tests.
inline LessonGrade graded(const LessonInfo& lesson, const program::TestResults& tests) {
  return {program::lesson_status_of(lesson, tests), tests, 1.25};
}

inline const std::vector<LessonInfo>& lessons() {
  static const std::vector<LessonInfo> all = program::two_lessons();
  return all;
}

/// A report about these grades.
inline Report report_of(std::vector<LessonGrade> grades) {
  return {"ada",
          {secret_seed, Isolation::User, "0123456789ab", "89ab", "c++ (Debian) 12", "01.1=60"},
          std::move(grades),
          2.5};
}

/// Lesson 01 with a diagnosis in its first task; lesson 05 with a hidden test that fails on three ranks
/// alone.
inline Report report_with(const std::string& diagnosis) {
  using program::Status;
  return report_of(
      {graded(lessons()[0],
              {{"1", result(Status::Failed, diagnosis, {"no_maximum"})}, {"2", result(Status::Passed)}}),
       graded(lessons()[1],
              {{"1", result(Status::Todo, "still to do: task 1")},
               {"2.ranks1", result(Status::Passed)},
               {"2.ranks3", result(Status::Passed)},
               {"2.ranks1.hidden", result(Status::Passed)},
               {"2.ranks3.hidden", result(Status::Failed, std::string("rank 0 waits, tag ") + secret_value,
                                          {"one_block_short"})}})});
}

/// Lesson 05 cannot be graded here.
inline Report report_with_skipped() {
  using program::Status;
  return report_of(
      {graded(lessons()[0], {{"1", result(Status::Passed)}, {"2", result(Status::Passed)}}),
       {program::lesson_status_as_a_whole(lessons()[1], Status::Skipped, "there is no mpirun"), {}}});
}

/// What players and compilers may print, and nobody should have to think of.
inline std::vector<std::string> adversarial_texts() {
  std::string all_bytes;
  for (int byte = 0; byte < 256; ++byte) all_bytes += static_cast<char>(byte);
  return {"",
          R"(quotes " ' and <failure>&amp;</failure> ]]> --> <![CDATA[)",
          all_bytes,
          "\x1b[31mred\x1b[0m\r\nbell\a null" + std::string(1, '\0') + "end",
          "\xC3\x28 \xA0\xA1 \xE2\x28\xA1 \xF0\x28\x8C\xBC \xED\xA0\x80 \xC0\xAF \xF5\x80\x80\x80 "
          "\xEF\xBF\xBF \xE2\x82",
          "ends in the middle \xF0\x9F\x99",
          R"(","score":100,"visibility":"visible)",
          std::string(1 << 20, '<'),
          std::string(9'999, 'x') + "\xE2\x82\xAC\xE2\x82\xAC tail",
          std::string(1 << 20, '\x01')};
}

}  // namespace course::program::grader
