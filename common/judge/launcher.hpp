#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "judge/standstill.hpp"
#include "player/case.hpp"
#include "tensor/tensor.hpp"

namespace course {

/// A call to be played: what each rank is given.
struct Case {
  std::string
      group;  ///< once a case ends its launch (crash, standstill), the rest of its group is not played
  std::string function;
  Arguments arguments;
  std::vector<std::map<std::string, Tensor>> inputs;  ///< by rank
  int ranks() const { return static_cast<int>(inputs.size()); }
};

/// What came back from a case.
struct Outcome {
  enum class Ending {
    NotPlayed,
    Finished,
    Todo,  ///< a skeleton's exception
    Threw,
    Crashed,
    Standstill,
    Stuck,  ///< one call outside MPI past the limit
    Lost,   ///< the player ended without a word
  } ending = Ending::NotPlayed;
  std::string text;  ///< one or several lines on anything but Finished
  std::optional<Standstill> standstill;
  std::vector<RankReport> reports;                     ///< by rank; empty unless every rank reported
  std::vector<std::map<std::string, Tensor>> outputs;  ///< by rank; empty unless Finished
};

struct LauncherOptions {
  std::filesystem::path subject;    ///< the shared object under test
  std::vector<std::string> player;  ///< the player's command, without its arguments
  bool mpi = false;                 ///< start it under mpirun
  double case_limit_s = 10;         ///< of one case outside MPI
};

/// Plays cases in as few launches as it can. A case whose player crashes, throws or stands still ends alone:
/// the rest is launched again without it and without its group.
class Launcher {
 public:
  explicit Launcher(LauncherOptions options) : options_(std::move(options)) {}

  std::vector<Outcome> play(const std::vector<Case>& cases) const;

  /// Writes a case as a folder that a player can be pointed at.
  static void write_case(const std::filesystem::path& folder, const Case& test_case,
                         const std::vector<int>& world_ranks);

 private:
  LauncherOptions options_;
};

/// The start of a command line for `ranks` processes on this machine, more than cores if need be.
std::vector<std::string> mpirun(int ranks);

/// What mpirun needs in its environment on one host; as root, Open MPI's two permissions too.
std::map<std::string, std::string> mpirun_environment();

}  // namespace course
