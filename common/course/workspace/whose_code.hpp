#pragma once

#include <string>

#include "course/workspace/checkout.hpp"
#include "course/workspace/saved_results.hpp"

namespace course::program {

/// The lesson with this role. Throws Unavailable, for `command`, where this checkout does not hold it.
const LessonInfo& held_lesson(const Checkout& checkout, Role role, const std::string& command);

/// Whose code to run where either will do: "student" where the student's own passes as it stands, else
/// "solution". Throws Unavailable, for `command`, where there is neither.
std::string runnable_subject(const Checkout& checkout, const LessonInfo& lesson, const Progress& progress,
                             const std::string& command);

/// The name of the target of a lesson's shared object, and of its file without ".so".
std::string subject_target(const LessonInfo& lesson, const std::string& subject);

}  // namespace course::program
