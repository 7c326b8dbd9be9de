#pragma once

#include <string>
#include <vector>

#include "judge/diagnosis/diagnose.hpp"

namespace course {

/// "all 8 inputs with a wrong answer have more keys than queries; none of the 12 others has": what sizes,
/// ranks' shards and blocks of the inputs set the wrong answers apart, one or two things, the simplest.
/// Inputs are those of one test; a right answer without a number that could be wrong refutes nothing. Empty
/// where nothing does, where so few inputs would be set apart by chance, and where one ended without an
/// answer.
std::string what_wrong_inputs_share(const std::vector<Played>& test);

}  // namespace course
