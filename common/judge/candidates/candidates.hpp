#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "judge/outcomes/recorder.hpp"
#include "judge/program/options.hpp"
#include "judge/program/session.hpp"

namespace course {

/// What the course itself expects of a submission whose nature it knows:
///   pass                  a solution or a variant: every test passes
///   todo                  a skeleton: no test passes, every one says that it is not written yet
///   mistake:ID            a mutant: each task that mistakes.md names fails, and ID alone is named
///   mistakes:ID,ID        a combination: it fails, and only these may be named
///   fails                 an answer whose mistake has no name: some test fails, whatever is named
///   fails:ID,ID           the same, where each of these says what is wrong
struct Expectation {
  std::string text;

  bool of_mistakes() const { return text.starts_with("mistake"); }
  bool of_failing() const { return text == "fails" || text.starts_with("fails:"); }
  bool of_wrong() const { return of_mistakes() || of_failing(); }
  /// The ids behind the colon.
  std::vector<std::string> mistakes() const;
  /// The tasks that these mistakes fail; empty for what has none. Throws std::invalid_argument for a mistake
  /// that the lesson does not have.
  std::set<std::string> failed_tasks(const LessonInfo& lesson) const;

  /// Empty when it holds for every seed; otherwise what is amiss. Throws std::invalid_argument for another
  /// text.
  std::string unmet(const std::vector<Round>& rounds, const LessonInfo& lesson) const;

  /// The same of one seed. A test that a deadlock or a crash ended with the first seed is not played with the
  /// `later` ones; nothing is asked of it there, and of a task only when all its tests were played.
  std::string unmet(const Round& round, bool later, const LessonInfo& lesson) const;
};

/// One of the course's own submissions to a lesson, whose nature is known: a solution, a mutant, a variant.
struct Candidate {
  std::string name;               ///< the test that asks for it: "mutant.lesson05.v_left_behind"
  std::filesystem::path subject;  ///< what the player loads
  std::string expect;             ///< see Expectation
  bool hidden = false;            ///< played with the lesson's hidden tests, too
  std::string ledger_entry;       ///< its name in the ledger; empty when nothing is recorded of it
};

/// Reads a file with a line a candidate: name, subject, expectation, "hidden" or "public", and the name in
/// the ledger or "-", with a tab between them. Throws std::runtime_error with the line that is not so.
std::vector<Candidate> listed_candidates(const std::filesystem::path& file);

/// Whether something is as it should be, and why not.
struct Check {
  bool holds = true;
  std::string text;          ///< lines
  std::string nearest = {};  ///< of a right answer: how near it came to a tolerance
  /// Of a mutant: whether the other forms of its mistake alone would earn it its name.
  std::optional<bool> named_by_others = {};
};

/// In which tests of a wrong submission each name was given, "failed without a name: 2.ranks3; named off:
/// 2.ranks4 2.ranks5; passed: 1".
std::string where_named(const Round& round);

/// Of a submission that fails, how it is named where `known` say what is wrong with it: "is named", when all
/// names that it earned are among them; "is misnamed off, other" with those that are not; "has no name".
std::string naming(const Round& round, const std::vector<std::string>& known);

/// Compares what came of a submission with what is expected of it; of a wrong one it says first where it was
/// named, and at the end, where no name is expected, its naming().
Check check_expectation(const std::string& expect, const std::vector<Round>& rounds,
                        const LessonInfo& lesson);

/// How a submission is played of which that is expected.
SessionOptions session_options(std::uint64_t seed, const std::string& expect);

/// The verdicts on a session that was played, and on it with later seeds. Throws std::invalid_argument for a
/// name that mistakes.md does not have.
std::vector<Round> judged(Session& session, int seeds, const std::string& expect, const LessonInfo& lesson);

/// Plays options.candidates one after another, in one process: the right answers, which take longer than the
/// playing, are worked out once for all of them. Writes into options.verdicts, which is emptied first, what
/// the tests named after the candidates have to say: a file NAME for each, and NAME.TEST for each graded test
/// of one that should pass. The first line is "holds" or "fails".
/// @param tests the lesson's graded tests with the hidden ones, of tasks that are remembering()
/// @param recorded the outcomes of the lesson's mistakes, with which mutants are compared; null: there are
/// none
void test_candidates(const LessonInfo& lesson, const std::vector<GradedTest>& tests,
                     const JudgeOptions& options, const RecordedOutcomes* recorded);

}  // namespace course
