#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>

#include "runner/confinement.hpp"
#include "runner/launcher.hpp"

namespace course {

/// What a judge's command line asks for.
struct JudgeOptions {
  LauncherOptions launcher;
  std::filesystem::path registry;
  std::uint64_t seed = 1;
  int seeds = 1;
  std::string expect;
  std::filesystem::path ledger;
  std::filesystem::path candidates;
  std::filesystem::path verdicts;
  std::filesystem::path outcomes;  ///< of known mistakes; empty: the lesson's own, if it has them
  std::filesystem::path record_outcomes;
  std::filesystem::path forms;
  int most_ranks = std::numeric_limits<int>::max();
  int most_ranks_of_further_forms = std::numeric_limits<int>::max();
  int most_seeds_of_mistakes = std::numeric_limits<int>::max();
  std::filesystem::path report;
  std::size_t columns = 0;  ///< lines of verdicts take no more; 0: as many as they need
  std::filesystem::path keep;
  std::string replay_options;
  std::filesystem::path replayed;
  bool as_checked = false;
  std::string isolation;
  std::optional<uid_t> user;
  bool hidden = false;
  Limits limits;
  std::filesystem::path write_case;
  std::string task;
  int ranks = 1;
};

/// Ends the process with 0 where help is asked for and with 2 where the arguments are wrong, which it says on
/// stderr.
JudgeOptions parse_options(int argc, char** argv);

}  // namespace course
