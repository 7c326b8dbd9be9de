#pragma once

#include <string>
#include <vector>

#include "train/channel.hpp"

namespace course::train {

/// How far a step's loss is from one rank's.
struct Difference {
  Index step = 0;
  double of_loss = 0, of_norm = 0;  ///< |loss - one rank's|; |norm - one rank's| / one rank's
};

/// What is drawn of a run.
struct Curve {
  std::string title = {};
  std::string note = {};                     ///< below it: what was trained, and on what
  std::vector<StepNews> steps = {};          ///< one at least
  std::vector<Difference> differences = {};  ///< none: nothing was compared
  double allowed = 0;                        ///< of the differences' losses
};

/// The losses in so many columns, for a terminal: a mean of each column's steps, and the held-out losses.
std::string terminal_curve(const Curve& curve, int columns, bool utf8);

/// The same as a picture that explains itself, and below it the differences on a logarithmic axis.
std::string svg_curve(const Curve& curve);

}  // namespace course::train
