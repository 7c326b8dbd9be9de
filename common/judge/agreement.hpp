#pragma once

#include <set>
#include <string>

#include "judge/task.hpp"
#include "registry/registry.hpp"

namespace course {

/// Throws std::invalid_argument unless judge and registry have the same tasks, and every mistake of the judge
/// is in the registry.
void require_agreement(const LessonJudge& judge, const LessonInfo& lesson);

/// The same for the names that were earned, which a communication check alone may know. Throws
/// std::invalid_argument.
void require_known(const std::set<std::string>& mistakes, const LessonInfo& lesson);

}  // namespace course
