#pragma once

#include <string>

#include "judge/round.hpp"

namespace course {

/// What the course itself expects of a submission whose nature it knows:
///   pass                  a solution or a variant: every test passes
///   todo                  a skeleton: no test passes, every one says that it is not written yet
///   mistake:ID            a mutant: each task that the registry names fails, and ID alone is named
///   mistakes:ID,ID        a combination: it fails, and only these may be named
struct Expectation {
  std::string text;

  bool of_mistakes() const { return text.starts_with("mistake"); }

  /// Empty when it holds for every seed; otherwise what is amiss. Throws std::invalid_argument for another
  /// text.
  std::string unmet(const std::vector<JudgedRound>& rounds, const LessonInfo& lesson) const;

  /// The same of one later seed. A test that a deadlock or a crash ended with one seed is not played with
  /// the later ones; nothing is asked of it there, and of a task only when all its tests were played.
  std::string unmet_later(const JudgedRound& round, const LessonInfo& lesson) const;

 private:
  std::string unmet(const JudgedRound& judged, bool first, const LessonInfo& lesson) const;
};

}  // namespace course
