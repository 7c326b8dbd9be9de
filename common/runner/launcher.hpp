#pragma once

#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocol/case.hpp"
#include "protocol/player_options.hpp"
#include "runner/confinement.hpp"
#include "runner/outcome.hpp"
#include "tensor/tensor.hpp"

namespace course {

/// An output that is read back from a player.
struct WantedOutput {
  std::int64_t largest_file = 0;  ///< bytes
  Index log_columns = 0;          ///< of a log: it has any number of rows of so many ints; 0: no log
};

/// A call to be played, with what each rank is given.
struct Case : FunctionCall {
  static constexpr double usual_case_limit_s = 60;
  std::string group =
      {};  ///< once a case ends its launch (crash, deadlock), the rest of its group is not played
  std::string task = {};  ///< once one runs past a limit, no other case of its task is played
  std::vector<std::map<std::string, Tensor>> inputs = {};  ///< by rank
  std::map<std::string, WantedOutput> outputs = {};
  std::filesystem::path subject = {};  ///< the shared object that it is played with; empty: the launcher's
  std::string name = {};               ///< of its folder; empty: a number
  std::vector<int> world_ranks = {};   ///< that play its ranks; empty: as LauncherOptions has it
  /// How long it may take, whatever it does, where the quiet limit is that of LauncherOptions; with another
  /// one in proportion. A timed case has no such limit.
  double limit_s = usual_case_limit_s;
  int ranks() const { return static_cast<int>(inputs.size()); }
};

/// How ranks are started elsewhere than on this machine's own memory.
struct Starter {
  std::vector<std::string> words;  ///< in place of mpirun(ranks)
  std::map<std::string, std::string> environment;
};

/// A launch at one moment.
struct LaunchView {
  const std::vector<RankSnapshot>& ranks;  ///< by world rank
  const std::filesystem::path& printed;    ///< the file that has what was printed so far
};

struct LauncherOptions {
  static constexpr double usual_quiet_limit_s = 10;
  std::filesystem::path subject;    ///< the shared object of cases that name none
  std::vector<std::string> player;  ///< the player's command, without its arguments
  bool mpi = false;                 ///< start it under mpirun
  /// A case ends that makes no progress for so long, though it had a core. One that is not timed ends after
  /// its own limit, too, whatever it does.
  double quiet_limit_s = usual_quiet_limit_s;
  double launch_limit_s = std::numeric_limits<double>::infinity();  ///< of all cases together
  const Confinement* confinement = nullptr;                         ///< for code that is not the user's own
  std::optional<TimedPlay> timed = {};  ///< in one launch, which ends with the first case that fails
  std::optional<Starter> starter = {};
  std::function<void(const LaunchView&)> on_look = {};  ///< some times a second, and once in the end
  std::set<pid_t> spared = {};        ///< the caller's other children, which a launch's end must not end
  std::vector<int> world_ranks = {};  ///< that play the ranks of every case; empty: the launcher chooses
};

/// player_solo, or player_mpi, which lie beside the program that asks.
std::filesystem::path player_program(bool mpi);

/// Plays cases in as few launches as it can. A case whose player crashes, leaves or is in a deadlock ends
/// alone: the rest is launched again without it and without its group.
class Launcher {
 public:
  explicit Launcher(LauncherOptions options) : options_(std::move(options)) {}

  /// A group or a task that ended in an earlier call is not played in a later one. Throws Unavailable where
  /// no rank came as far as to load what was submitted: that is this machine's failure, and nobody's answer.
  std::vector<Outcome> play(const std::vector<Case>& cases);

  /// Writes a case as a folder that a player can be pointed at.
  static void write_case(const std::filesystem::path& folder, const Case& test_case,
                         const std::vector<int>& world_ranks);

 private:
  LauncherOptions options_;
  std::set<std::string> ended_groups_;
  std::set<std::string> ended_tasks_;
};

/// The world ranks that play the ranks of a case, in a world of `world_size` >= `ranks`: none plays the rank
/// of its own number, unless it is alone in the world, and from a world of four on they are no rotation of
/// the world's order, which has the same neighbours.
std::vector<int> shuffled_world_ranks(int ranks, int world_size);

}  // namespace course
