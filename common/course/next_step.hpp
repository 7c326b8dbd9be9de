#pragma once

#include <string>
#include <vector>

#include "course/standing.hpp"

namespace course::program {

/// Every lesson of the checkout as it stands.
std::vector<LessonStanding> all_standings(const Checkout& checkout);

/// What to read, edit and type now: one line. `standings` are all lessons; the search starts after the lesson
/// `after` (an id, may be empty) and goes round.
std::string next_step(const std::vector<LessonStanding>& standings, const std::string& after);

/// The end of a check: how many tasks passed, the points and the next step.
std::string verdict_text(const Checkout& checkout, const LessonStanding& standing);

}  // namespace course::program
