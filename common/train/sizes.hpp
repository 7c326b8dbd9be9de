#pragma once

#include <cstdint>
#include <string>

#include "train/settings.hpp"

namespace course::train {

/// What a step costs, before anything has run.
struct Cost {
  double operations = 0;  ///< of a step, on all ranks together
  double seconds = 0;     ///< of a step, at core_speed
  int cores = 1;          ///< that the ranks have
};

/// Floating-point operations a second of a core that the course counts on: half of what steps of the default
/// sizes reached on 2026-11-28, 68e9 on one of two shared cores of an EPYC.
inline constexpr double core_speed = 30e9;

/// A token costs 6 operations a weight and 22 % of that for what is computed again, and 7 N hidden a layer
/// for causal attention, in N tokens.
Cost cost_of(const Settings& settings, int cores);

/// Throws UsageError where the model has no such shape: "--heads 5: does not divide --hidden 64".
void require_shape(const Settings& settings);

/// Throws UsageError where the steps from `first` on would take an hour or more, with the arithmetic.
void require_within_an_hour(const Settings& settings, Index first, int cores);

/// Throws UsageError where the first nine tenths of a text of so many bytes, which are trained on, have no
/// more than the context: a window has context + 1 bytes.
void require_long_enough(std::uintmax_t bytes, const std::string& name, Index context);

/// After how many steps the loss on the held-out part is computed: a multiple of 100 that keeps it to about a
/// twentieth of the time. A window costs a third of a step.
Index steps_between_evaluations(Index bytes, Index context);

}  // namespace course::train
