#pragma once

#include <string>
#include <vector>

#include "timed/timed.hpp"
#include "train/curve.hpp"
#include "train/running.hpp"
#include "train/start.hpp"

namespace course::train {

/// How the first steps went again on one rank.
struct Compared {
  std::vector<Difference> steps = {};  ///< one at least

  /// Losses may differ by 2e-6 in the first 20 steps, and by as much more in every 20 that follow: float32
  /// adds in another order.
  double allowed() const;
  /// That with the largest difference of losses.
  const Difference& worst() const;
  /// In losses, and in norms of the gradient: a factor of all gradients moves the norms alone. Norms may
  /// differ by 1e-4 of themselves where losses may by 2e-6.
  bool agree() const;
};

/// @param many, one the steps of the run, and of the same run on one rank; as many are compared as both have
Compared compared(const std::vector<StepNews>& many, const std::vector<StepNews>& one);

/// All that is known after a run.
struct RunReport {
  const Start& start;
  Made made = {};
  std::optional<Compared> compared = {};
  double seconds = 0;
  std::string go_on = {};  ///< the command
};

/// What is said before the first step.
std::string heading(const Start& start);

/// After the last one: curve, ranks, what was compared, the sample.
std::string report_text(const RunReport& run, const timed::Page& page);

/// One JSON object.
std::string report_json(const RunReport& run);

std::string report_svg(const RunReport& run);

}  // namespace course::train
