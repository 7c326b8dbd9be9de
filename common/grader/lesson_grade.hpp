#pragma once

#include "course/workspace/judging.hpp"
#include "grader/report.hpp"
#include "grader/workshop.hpp"

namespace course::grader {

/// How the judge is to play what a workshop has made: confined, with hidden tests.
program::GradingOrder grading_order(const program::Checkout& checkout, const LessonInfo& lesson,
                                    const Workshop& workshop, const GradingManifest& manifest);

/// Grades one lesson of a submission. Whatever the submission does, there is a lesson_status with a status
/// and, short of a pass, a diagnosis for each task. Throws std::runtime_error when the grader itself cannot
/// work.
LessonGrade grade_lesson(const program::Checkout& checkout, const LessonInfo& lesson,
                         const std::filesystem::path& submission, const GradingManifest& manifest);

}  // namespace course::grader
