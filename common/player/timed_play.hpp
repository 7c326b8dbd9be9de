#pragma once

#include <vector>

#include "player/options.hpp"
#include "player/played_case.hpp"
#include "player/stage.hpp"

namespace course {

/// Plays the cases in turns, so that what else the machine does meets all alike, and writes what each rank
/// saw of them. Throws std::runtime_error with what a function threw.
void play_timed(const PlayerOptions& options, std::vector<LoadedCase> cases, Stage& stage, RankStatus& page);

}  // namespace course
