#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program::grader {

/// The files of a submission, from its top, that lie where the course has its build, its registry, its tests
/// and its contracts, and are not the course's of today or of any commit of it: a grade does not look at
/// them. Ends of lines do not count. Empty for the checkout itself.
std::vector<std::string> edits_beside(const Checkout& checkout, const std::filesystem::path& folder);

/// One sentence about them, which names some.
std::string edits_in_words(const std::vector<std::string>& edits);

}  // namespace course::program::grader
