#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program::grader {

/// Files of a submission, from its top, without effect on its grade.
struct Edits {
  std::vector<std::string> paths = {};
  /// Whether no commit of the course has them. Else its commits are not here: the files differ from today's
  /// course, and may be those of an older handout.
  bool are_certain = true;
};

/// What lies where the course has its build, its registry, its tests and its contracts, and is not the
/// course's of today or of any commit of it; and a second answer, at the top, that is not graded. Ends of
/// lines do not count. None for the checkout itself.
Edits edits_beside(const Checkout& checkout, const std::filesystem::path& folder);

/// One sentence about them, which names some.
std::string edits_in_words(const Edits& edits);

}  // namespace course::program::grader
