#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "judge/candidates/sweep.hpp"
#include "judge/task.hpp"
#include "registry/registry.hpp"

namespace course {

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
std::vector<Candidate> read_candidates(const std::filesystem::path& file);

/// The seeds that are played: so many from the first on.
struct Seeds {
  std::uint64_t first = 1;
  int count = 1;
};

/// The recorded verdicts of a lesson.
struct LedgerFile {
  std::filesystem::path path;  ///< empty: nothing is compared
  bool record = false;         ///< write instead of comparing
};

/// Whether a submission came out as it should, and why not.
struct Check {
  bool holds = true;
  std::string text;  ///< lines

  void add(bool also_holds, const std::string& line);
};

/// Compares what came of a submission with what is expected of it and with what the ledger has of it.
/// @param complete every graded test of the lesson was played
Check check_candidate(const Candidate& candidate, const std::vector<JudgedRound>& rounds,
                      const LessonInfo& lesson, const LedgerFile& ledger, bool complete);

/// Plays many candidates of a lesson, one after another, in one process: the right answers, which take longer
/// than the playing, are worked out once for all of them.
class CandidateTests {
 public:
  /// @param public_tests, all_tests the lesson's graded tests, without and with the hidden ones, of tasks
  /// that
  ///   are remembering()
  CandidateTests(const LessonInfo& lesson, std::vector<GradedTest> public_tests,
                 std::vector<GradedTest> all_tests, LauncherOptions options, Seeds seeds, LedgerFile ledger);

  /// Writes into `folder`, which is emptied first, what the tests named after the candidates have to say: a
  /// file NAME for each, and NAME.TEST for each graded test of one that should pass. The first line is
  /// "holds" or "fails".
  void run(const std::vector<Candidate>& candidates, const std::filesystem::path& folder);

 private:
  /// What came of one, which is written down graded test by graded test where it should pass.
  Check play(const Candidate& candidate, const std::filesystem::path& folder);

  const LessonInfo& lesson_;
  std::vector<GradedTest> public_tests_, all_tests_;
  LauncherOptions options_;
  Seeds seeds_;
  LedgerFile ledger_;
  SharedExamples examples_;
};

/// How a submission is played of which that is expected; must_be_sharp unless nothing is.
SessionOptions session_options(std::uint64_t seed, const std::string& expect);

/// The verdicts on a session that was played, and on it with later seeds.
/// Throws std::invalid_argument for a name that the registry does not have.
std::vector<JudgedRound> judged(Session& session, int seeds, const std::string& expect,
                                const LessonInfo& lesson);

}  // namespace course
