#pragma once

#include <filesystem>
#include <vector>

namespace course {

/// What a player's command line says.
struct PlayerOptions {
  struct PlannedCase {
    std::filesystem::path folder;
    std::filesystem::path subject;  ///< the shared object that it is played with
  };
  std::vector<PlannedCase> cases;
  std::filesystem::path status;  ///< the judge's file; empty: nobody watches
  bool keep_inputs = false;
  bool timed = false;
  int rounds = 1;               ///< how often a timed case is called
  bool show_median = false;     ///< whose spans are kept: the median call's, or the fastest one's
  std::filesystem::path block;  ///< whose blocks a timed ring computes with; empty: the plain ones
  std::filesystem::path block_backward;
};

/// Throws std::invalid_argument with what is wrong and the usage.
PlayerOptions parse_player_options(int argc, char** argv);

}  // namespace course
