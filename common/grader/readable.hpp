#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program::grader {

/// Reports for a student to read, made of a JSON report: points, the words of each task's contract and why it
/// is not passed. Whatever the submission put into names and messages is shown as text. Seed and hidden
/// numbers are not in it.
std::string html_report(const nlohmann::ordered_json& report, const Checkout& checkout);
std::string markdown_report(const nlohmann::ordered_json& report, const Checkout& checkout);

}  // namespace course::program::grader
