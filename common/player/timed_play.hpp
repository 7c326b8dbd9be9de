#pragma once

#include <stdexcept>
#include <vector>

#include "player/options.hpp"
#include "player/played_case.hpp"
#include "player/stage.hpp"

namespace course {

/// What a function threw, of which the page already tells those who watch.
struct GivenUp : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Plays the cases in turns, so that what else the machine does meets all alike, and writes what each rank
/// saw of them. Throws GivenUp.
void play_timed(const PlayerOptions& options, std::vector<LoadedCase> cases, Stage& stage, RankStatus& page);

}  // namespace course
