#pragma once

#include <array>
#include <string>

#include "course/workspace/checkout.hpp"
#include "course/workspace/lesson_texts.hpp"

namespace course::program {

/// The sections that every lesson's README has, in this order.
inline constexpr std::array readme_sections{"The derivation",       "The contract",   "The exercise",
                                            "What the tests check", mistakes_section, "Interview questions",
                                            "What real systems do", "Further reading"};

/// Begins a lesson: a copy of the one that has this role, under the next number and this name, in
/// which nothing is solved, no mistake has a form and no text is written. It builds, and `./course test
/// --lesson NN` says what is missing. Throws UsageError for a name or a role that will not do,
/// Unavailable in a handout.
int new_lesson(const Checkout& checkout, const std::string& name, const std::string& role);

}  // namespace course::program
