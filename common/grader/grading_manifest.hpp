#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"
#include "runner/confinement.hpp"

namespace course::grader {

/// What all grades of one run have in common: the instructor's report says it, and a student's does not.
struct GradingManifest {
  std::uint64_t seed = 0;  ///< that inputs are drawn with, public and hidden
  Isolation isolation = Isolation::None;
  std::string commit;    ///< of the course that graded, "-dirty" appended when its files differ from it
  std::string judges;    ///< tells the built judges from those of any other state of the course
  std::string compiler;  ///< its version line
  std::string scope;     ///< the tasks and their points: "01.1=40 01.2=60"

  bool operator==(const GradingManifest&) const = default;
};

/// A seed that nobody can guess, small enough for a number of JavaScript.
std::uint64_t drawn_seed();

/// The commit that a checkout is at; "unknown" where there is no git.
std::string commit_of(const program::Checkout& checkout);

/// Of the judges of the checkout's lessons, as they are built.
std::string judges_hash(const program::Checkout& checkout);

/// The version line of the compiler that the build tree is configured for. Throws std::runtime_error when
/// there is no such tree.
std::string compiler_version(const program::Checkout& checkout);

std::string scope_of(const std::vector<LessonInfo>& lessons);

nlohmann::ordered_json to_json(const GradingManifest& manifest);
/// Throws nlohmann::json::exception or std::invalid_argument.
GradingManifest manifest_from(const nlohmann::ordered_json& json);

}  // namespace course::grader
