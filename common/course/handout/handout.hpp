#pragma once

#include <optional>
#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

struct HandoutOptions {
  std::string folder;
  std::optional<std::string>
      lessons;  ///< as choose_lessons understands it; none: the earlier handout's, or all
};

/// Makes the students' copy of the course in a folder, or brings an earlier one up to date.
int handout(const Checkout& checkout, const HandoutOptions& options);

/// Gives out a lesson's solution: as an update of the handout in `folder`, or on stdout as a patch where
/// `folder` is empty.
int release(const Checkout& checkout, const std::string& lesson, const std::string& folder);

}  // namespace course::program
