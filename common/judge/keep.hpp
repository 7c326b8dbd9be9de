#pragma once

#include <filesystem>

#include "judge/diagnose.hpp"

namespace course {

/// Writes a played case as a folder that can be played again (docs/case-format.md), with what the ranks
/// returned under out/ and the right answer, whole and in float64, under expected/.
void keep_case(const std::filesystem::path& folder, const Task& task, const Played& played);

}  // namespace course
