#pragma once

#include <string>

#include "judge/session.hpp"

namespace course {

/// What the course itself expects of a submission whose nature it knows:
///   pass                  a solution or a variant: every test passes
///   todo                  a skeleton: no test passes, every one says that it is not written yet
///   mistake:ID            a mutant: each task that the registry names fails, ID is named, and nothing else
///   is mistakes:ID,ID        a combination: it fails, and only these may be named
struct Expectation {
  std::string text;

  /// Empty when it holds for every seed; otherwise what is amiss. Throws std::invalid_argument for another
  /// text.
  std::string unmet(const Session& session, const LessonInfo& lesson) const;
};

}  // namespace course
