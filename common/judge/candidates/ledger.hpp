#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "judge/round.hpp"

namespace course {

/// The verdicts that the course's own submissions to one lesson are known to get with the first seed. A line
/// of its file has a submission, a verdict and the graded tests that end so, with a tab between them:
///   mutant.masked_row_nan    failed: masked_row_nan    1 2
/// Two verdicts with " | " between them are both right, where timing decides. A test that fails without a
/// name is "failed", one that fails with several "failed: one, other".
class Ledger {
 public:
  /// Throws std::runtime_error with the line when the file cannot be read. A file that is not there is an
  /// empty ledger.
  explicit Ledger(std::filesystem::path file);

  /// Whether the lesson has been recorded.
  bool has_lesson() const { return has_lesson_; }

  /// A line for every test whose verdict is not the recorded one; empty when all are.
  /// @param complete every test was played, so that one of the ledger's that was not is gone
  std::string differences(const std::string& submission, const JudgedRound& round, bool complete) const;

  /// Writes the verdicts into the file in place of those that differ. Several processes may do so at once.
  static void record(const std::filesystem::path& file, const std::string& submission,
                     const JudgedRound& round, bool complete);

 private:
  using Verdicts = std::map<std::string, std::string>;  ///< by test

  void read_line(const std::string& line, int number);
  void write() const;

  std::filesystem::path file_;
  bool has_lesson_ = false;
  std::map<std::string, Verdicts> submissions_;
};

}  // namespace course
