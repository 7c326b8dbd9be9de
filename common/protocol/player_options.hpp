#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace course {

/// How cases are played to be timed (docs/case-format.md).
struct TimedPlay {
  int rounds = 1;               ///< how often a case is called
  bool show_median = false;     ///< whose spans are kept: the median call's, or the fastest one's
  std::filesystem::path block;  ///< whose blocks a ring computes with; empty: the plain ones
  std::filesystem::path block_backward;
};

/// All that a player under MPI is given where it is only asked which MPI library it finds.
inline constexpr const char* mpi_library_option = "--mpi-library";

/// A case's folder, and the shared object that it is played with.
struct PlannedCase {
  std::filesystem::path folder;
  std::filesystem::path subject;
};

/// What a player's command line says.
struct PlayerOptions {
  std::vector<PlannedCase> cases;
  std::filesystem::path status = {};  ///< the judge's file; empty: nobody watches
  bool keep_inputs = false;
  std::optional<TimedPlay> timed = {};
};

/// Throws std::invalid_argument with what is wrong and the usage.
PlayerOptions parse_player_options(int argc, char** argv);

/// The arguments that say it.
std::vector<std::string> player_arguments(const PlayerOptions& options);

}  // namespace course
