#pragma once

#include "course/selftest/test_run.hpp"
#include "course/workspace/checkout.hpp"

namespace course::program {

/// The steps of ./course test that are not tests of a build tree. Each is one row; one that this machine
/// cannot do is skipped and says why, or has failed where COURSE_NO_SKIP or CI is set in the environment.

/// The lessons' registry entries and folders are whole (audit). Not for a handout, which has no solutions.
TestRow check_lessons(const Checkout& checkout, const std::vector<LessonInfo>& lessons);

/// Every tracked C++ file is formatted as .clang-format says, but for those that the student edits.
TestRow check_formatting(const Checkout& checkout);

/// Every skeleton in lessons/, as it lies there or as it was committed, is what its solution's marks give.
/// Not for a handout, which keeps the skeletons that it came with.
TestRow check_skeletons(const Checkout& checkout);

/// Another compiler than the one in use compiles everything without a warning.
TestRow check_second_compiler(const Checkout& checkout, int jobs);

/// What the lesson's registry entry and folders lack of what docs/adding-a-lesson.md asks for, one line a
/// finding, which names the lesson, the registry's field or the kind of file, and the path. What a student
/// edits is not looked at.
std::vector<std::string> audit(const Checkout& checkout, const LessonInfo& lesson);

/// What the entries of the registry have in common that they should not: ids of lessons and names of files.
std::vector<std::string> audit_registry(const std::vector<LessonInfo>& lessons);

}  // namespace course::program
