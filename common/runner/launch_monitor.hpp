#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runner/deadlock.hpp"
#include "runner/outcome.hpp"

namespace course {

/// The snapshots of a case's ranks, by rank of the case.
std::vector<RankSnapshot> in_case_order(const std::vector<RankSnapshot>& world,
                                        const std::vector<int>& world_ranks);

/// The ranks that are in the submission's own code, outside MPI: "rank 0, 2"; empty if none is.
std::string computing_ranks(const std::vector<RankSnapshot>& ranks);

/// The first of the ranks that threw, and what.
std::optional<Outcome> thrown_by(const std::vector<RankSnapshot>& ranks);

/// Watches one launch from outside and decides when it is over.
class LaunchMonitor {
 public:
  /// @param world_ranks  for each case, who plays its ranks
  /// @param quiet_limit_s seconds without progress, though there was a core to run on
  /// @param launch       the process that was started
  /// @param deadlock_patience_s for which all ranks may wait in MPI without a proof that they wait for ever
  LaunchMonitor(const std::vector<std::vector<int>>& world_ranks, double quiet_limit_s, pid_t launch,
                double deadlock_patience_s = deadlock_s)
      : world_ranks_(world_ranks),
        quiet_limit_s_(quiet_limit_s),
        deadlock_patience_s_(deadlock_patience_s),
        launch_(launch) {}

  /// Looks at the pages; returns how the current case failed, or nullopt to go on.
  std::optional<Outcome> look(const std::vector<RankSnapshot>& world);

  int case_index() const { return progress_.case_index; }

 private:
  /// What changes as long as something happens.
  struct Progress {
    int case_index = -1;
    std::uint64_t completed = 0;
    std::uint64_t phases = 0;
    bool operator==(const Progress&) const = default;
  };

  double quiet_s() const { return now_s() - last_progress_s_; }
  bool past_limit(const std::vector<RankSnapshot>& world) const;
  void note_progress(const std::vector<RankSnapshot>& world);
  std::optional<Outcome> look_for_deadlock(const std::vector<RankSnapshot>& ranks) const;
  Outcome stuck_in(const std::vector<RankSnapshot>& ranks) const;
  Outcome stuck(const std::string& how, const std::string& where) const;

  const std::vector<std::vector<int>>& world_ranks_;
  double quiet_limit_s_;
  double deadlock_patience_s_;
  pid_t launch_;
  /// By process, once nothing has happened for a while: for how long it had stood ready to run by then.
  std::optional<std::map<pid_t, double>> queued_before_;
  Progress progress_;
  double last_progress_s_ = now_s();
};

}  // namespace course
