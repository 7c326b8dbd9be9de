#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "judge/program/session.hpp"

namespace course {

/// The verdicts that the course's own submissions to one lesson are known to get with the first seed: by
/// submission, and of that by test. The first two lines of its file have the lesson's graded tests, "public"
/// and "hidden". Every other one has a submission, a verdict and the tests that end so, with a tab between
/// them, where "public" and "all" stand for tests of these lines, and "-" for none:
///   public                   1 2
///   hidden                   1.hidden
///   mutant.masked_row_nan    failed: masked_row_nan    1
///   variant.one_pass         passed                    all
/// The public tests that no line of a submission has, it passes, unless a line of it says "passed": then the
/// lines have all that is known of it. Two verdicts with " | " between them are both right, where timing
/// decides. A test that fails without a name is "failed", one that fails with several "failed: one, other".
using Ledger = std::map<std::string, std::map<std::string, std::string>>;

/// Throws std::runtime_error with the line when the file cannot be read. A file that is not there is an empty
/// ledger.
Ledger read_ledger(const std::filesystem::path& file);

/// A line for every test whose verdict is not the recorded one, or that was neither played nor left out;
/// empty when there is none.
std::string differences(const Ledger& ledger, const std::string& submission, const Round& round,
                        const std::set<std::string>& left_out);

/// Writes the verdicts into the file in place of the recorded ones, which stay where they admit them. Several
/// processes may do so at once.
void record(const std::filesystem::path& file, const std::string& submission, const Round& round);

}  // namespace course
