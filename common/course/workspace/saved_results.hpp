#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

enum class Status { Passed, Failed, Todo, Skipped };

/// "passed", "failed", "todo", "skipped"
std::string to_string(Status status);
/// Throws std::invalid_argument.
Status status_named(const std::string& name);

/// What the judge said of one test.
struct TestResult {
  Status status = Status::Failed;
  std::string text;                   ///< the diagnosis; several lines
  std::vector<std::string> mistakes;  ///< ids of the registry
};

/// The tests of a lesson by name ("2.ranks3"), as they went with files of this content.
struct LessonRecord {
  std::string hash;
  std::string build_error;  ///< the first one; empty when the files compile
  std::map<std::string, TestResult> tests;
};

/// What the course remembers of a student: .course/results.json.
struct Progress {
  std::map<std::string, LessonRecord> lessons;  ///< by lesson id
  std::map<std::string, int> hints;             ///< by lesson and task ("05.2"): how many were shown
};

/// Reads what is remembered. A file that is corrupt or of another version is put aside under another name,
/// with a word on stderr, and nothing is remembered.
Progress read_progress(const Checkout& checkout);

/// Renames a file of .course that cannot be read and says so: `what` (it holds) is unreadable, because of
/// `error`.
void put_aside(const Checkout& checkout, const std::filesystem::path& file, const std::string& what,
               const std::string& error);

/// Reads, changes and writes what is remembered; simultaneous calls take turns.
void update_progress(const Checkout& checkout, const std::function<void(Progress&)>& change);

}  // namespace course::program
