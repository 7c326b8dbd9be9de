#pragma once

#include <string>

namespace course::program::grader {

/// What of a text is not as Gradescope's specification of results.json says: keys, types, enumerations.
/// Empty when all is.
std::string wrong_in_results(const std::string& text);

}  // namespace course::program::grader
