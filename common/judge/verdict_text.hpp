#pragma once

#include <string>

#include "judge/verdict.hpp"

namespace course {

/// What a person reads of one graded test: a line where it passed, a paragraph where it failed.
std::string verdict_text(const LessonInfo& lesson, const GradedTest& test, const TestVerdict& verdict);

}  // namespace course
