#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace course {

/// What a judge writes with --report: one JSON object for ./course, which starts it.
struct JudgeReport {
  struct Test {
    std::string task;
    int ranks = 0;  ///< 0: the task is played on one rank
    bool hidden = false;
    std::string status;  ///< "passed", "failed" or "todo"
    std::string text;    ///< the diagnosis
    std::vector<std::string> mistakes;
    std::vector<std::string> in_part = {};  ///< mistakes that it looks like in part
    /// How the call ended that the diagnosis is about: "threw", "crashed", "deadlock", "stuck", "over limit"
    /// or "lost"; "broke a rule" where the function returned the right answer; empty where it returned a
    /// wrong one.
    std::string ending = {};
    /// Mistakes that one output looks like where others are right.
    std::vector<std::string> of_outputs = {};
    /// The kind of the fact (protocol/fact_kinds.hpp) that the diagnosis shows, its exception's before
    /// others; empty where it shows none, and of a hidden test.
    std::string fact = {};
    /// Whether an instrument has named a line in the diagnosis: of a fact's call or kernel, or a sanitizer.
    bool has_line = false;
  };
  std::string lesson;
  std::uint64_t seed = 0;
  std::vector<Test> tests;
  std::string failure = {};  ///< why nothing could be judged, which no answer is to blame for; else empty
};

/// Writes it whole or not at all. Throws std::runtime_error with the path.
void write_judge_report(const std::filesystem::path& path, const JudgeReport& report);
/// Throws std::runtime_error with what is wrong with the text.
JudgeReport parse_judge_report(const std::string& text);

}  // namespace course
