#pragma once

#include "course/selftest/test_rows.hpp"
#include "course/workspace/checkout.hpp"

namespace course::program {

/// The steps of `./course test` that are not tests of a build tree. Each is one row; one that this machine
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

}  // namespace course::program
