#pragma once

#include "demo/input.hpp"
#include "demo/report.hpp"

namespace course::demo {

/// What a run's first ring computed, [heads, seq, head_dim] each and lse [heads, seq]; the gradients are
/// empty when it was forward only.
struct Outputs {
  const Tensor &o, &lse, &dq, &dk, &dv;
};

/// Writes the run's files into --out, or its pictures alone into .course/demo below COURSE_ROOT or else the
/// working folder. Where a ring's answer is wrong nothing is written, and gradients of an earlier run do not
/// stay beside an output that has none. Throws what OutputFolder throws for --out; that the default folder
/// cannot be written is only told.
SavedFiles save(const Options& options, const RunSummary& run, const Outputs& outputs);

}  // namespace course::demo
