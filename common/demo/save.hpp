#pragma once

#include "demo/input.hpp"
#include "demo/report.hpp"

namespace course::demo {

/// Writes the run's files into --out, or its pictures alone into .course/demo below COURSE_ROOT or else the
/// working folder. A wrong answer is not written. Throws what OutputFolder throws for --out; that the default
/// folder cannot be written is only told.
SavedFiles save(const Options& options, const RunSummary& run, const Tensor& o, const Tensor& lse);

}  // namespace course::demo
