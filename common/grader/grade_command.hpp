#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::grader {

struct GradeOptions {
  std::vector<std::string> lessons;  ///< "05", "03-05"; empty: all
  std::optional<std::filesystem::path> submission;
  std::optional<std::filesystem::path> submissions;
  std::string format = "text";
  std::optional<std::filesystem::path> output;
  std::optional<std::filesystem::path> points;  ///< a JSON file that overrides the registry's
  std::optional<std::uint64_t> seed;
  std::optional<std::string> isolation;
  int jobs = 0;           ///< 0: as many as suit this machine
  bool prepared = false;  ///< the judges are built
};

/// ./course grade. Returns an exit code: 0 when the report is complete, whatever the score. Throws UsageError
/// and Unavailable.
int grade(program::Checkout checkout, const GradeOptions& options);

}  // namespace course::grader
