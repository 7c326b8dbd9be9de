#pragma once

#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// What the lesson's registry entry and folders lack of what docs/adding-a-lesson.md asks for, one line a
/// finding, which names the lesson, the registry's field or the kind of file, and the path. What a student
/// edits is not looked at.
std::vector<std::string> audit(const Checkout& checkout, const LessonInfo& lesson);

/// What the entries of the registry have in common that they should not: ids of lessons and names of files.
std::vector<std::string> audit_registry(const std::vector<LessonInfo>& lessons);

}  // namespace course::program
