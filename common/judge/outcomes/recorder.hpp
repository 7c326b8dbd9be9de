#pragma once

#include <filesystem>
#include <vector>

#include "judge/outcomes/recorded.hpp"
#include "judge/program/options.hpp"
#include "judge/program/session.hpp"

namespace course {

/// A form of a mistake, compiled as mutants are and as a student's file is.
struct FormSubjects {
  std::string form;  ///< "v_left_behind.2"
  std::filesystem::path as_mutant, as_student;
};

/// Reads a file with a line a form: its name and the two subjects, with tabs between them. Throws
/// std::runtime_error with the line that is not so.
std::vector<FormSubjects> listed_forms(const std::filesystem::path& file);

/// Plays all forms with seed 1 and says what came of them. Throws what a launch throws.
/// @param tests the lesson's public tests, of tasks that are remembering()
/// @param options whose subject is a right answer, for what it sends
RecordedOutcomes record_outcomes(const std::vector<GradedTest>& tests, const std::vector<FormSubjects>& forms,
                                 const JudgeOptions& options);

/// Why a mutant, played with seed 1, no longer comes out as recorded: its form is not in the file, an input
/// has changed, or an outcome has. Empty where the mutant comes out as recorded.
std::string stale_outcomes(const RecordedOutcomes& recorded, const std::string& form, const Round& round);

}  // namespace course
