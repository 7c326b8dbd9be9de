#pragma once

#include <string>
#include <vector>

#include "course/workspace/lesson_status.hpp"

namespace course::program {

/// Every lesson of the checkout as it stands.
std::vector<LessonStatus> all_lesson_statuses(const Checkout& checkout);

/// The first lesson that is neither passed nor skipped, from the one after the lesson `after` (an id, may be
/// empty) and round; nullptr when there is none.
const LessonStatus* next_open(const std::vector<LessonStatus>& lesson_statuses, const std::string& after);

/// What to read, edit and type now, in the next open lesson: one line.
std::string next_step(const std::vector<LessonStatus>& lesson_statuses, const std::string& after);

/// The end of a check: how many tasks passed and the points, or, where only a part of the lesson was checked,
/// how it stands with each task; and the next step.
std::string verdict_text(const Checkout& checkout, const LessonStatus& lesson_status);

/// The same where somebody's own player was graded, whose files the course knows nothing about.
std::string own_player_text(const LessonStatus& lesson_status);

}  // namespace course::program
