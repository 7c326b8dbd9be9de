#pragma once

#include <string>
#include <vector>

#include "lab/measured.hpp"
#include "runner/launcher.hpp"

namespace course::lab {

/// How cases are played.
struct PlayOrder {
  TimedPlay timed;
  double limit_s = 60;                                      ///< then the ranks are ended
  std::optional<Starter> starter = {};                      ///< without it on this machine's shared memory
  std::function<void(int, int)> on_turn = [](int, int) {};  ///< is told which case is played in which round
};

/// Plays the cases in turns and returns what came of each.
std::vector<CallResult> play(const std::vector<Case>& cases, const PlayOrder& order);

}  // namespace course::lab
