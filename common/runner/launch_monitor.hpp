#pragma once

#include <sys/types.h>

#include <cstdint>
#include <limits>
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

/// The first of the ranks that a signal killed, and which.
std::optional<Outcome> crashed_by(const std::vector<RankSnapshot>& ranks);

/// A limit on how long something lasts. Time without a core does not count, up to five times the limit.
class CoreTimeLimit {
 public:
  CoreTimeLimit(double limit_s, pid_t launch) : limit_s_(limit_s), launch_(launch) {}

  /// Something else begins.
  void restart() { restart(limit_s_); }
  /// The same with another limit.
  void restart(double limit_s);
  /// To be called at every look: keeps in mind who had no core until now, once that may come to count.
  void look();
  double seconds() const { return now_s() - begin_s_; }
  bool is_past(const std::vector<RankSnapshot>& world) const;

 private:
  double limit_s_;
  pid_t launch_;
  double begin_s_ = now_s();
  /// By process, for how long it had stood ready to run when it was looked at.
  std::optional<std::map<pid_t, double>> queued_before_;
};

/// Watches one launch from outside and decides when it is over.
class LaunchMonitor {
 public:
  /// @param world_ranks  for each case, who plays its ranks
  /// @param quiet_limit_s seconds without progress, though there was a core to run on
  /// @param launch       the process that was started
  /// @param deadlock_patience_s for which all ranks may wait in MPI without a proof that they wait for ever
  /// @param case_limits_s for each case in all, however much happens, though there was a core to run on;
  ///                     empty: as long as it likes
  LaunchMonitor(const std::vector<std::vector<int>>& world_ranks, double quiet_limit_s, pid_t launch,
                double deadlock_patience_s = deadlock_s, std::vector<double> case_limits_s = {})
      : world_ranks_(world_ranks),
        quiet_limit_s_(quiet_limit_s),
        case_limits_s_(std::move(case_limits_s)),
        deadlock_patience_s_(deadlock_patience_s),
        quiet_(quiet_limit_s, launch),
        case_(limit_of_case(), launch) {}

  /// Looks at the pages; returns how the current case failed, or nullopt to go on.
  std::optional<Outcome> look(const std::vector<RankSnapshot>& world);

  int case_index() const { return progress_.case_index; }

 private:
  /// What changes as long as something happens.
  struct Progress {
    int case_index = -1;
    std::uint64_t completed = 0;
    std::uint64_t phases = 0;
    std::vector<std::string> told = {};
    bool operator==(const Progress&) const = default;
  };

  /// Of the current case.
  double limit_of_case() const;
  void note_progress(const std::vector<RankSnapshot>& world);
  std::optional<Outcome> look_for_deadlock(const std::vector<RankSnapshot>& ranks) const;
  Outcome stuck_in(const std::vector<RankSnapshot>& ranks) const;
  Outcome stuck(const std::string& how, const std::string& where) const;
  Outcome not_done(const std::vector<RankSnapshot>& ranks) const;

  const std::vector<std::vector<int>>& world_ranks_;
  double quiet_limit_s_;
  std::vector<double> case_limits_s_;
  double deadlock_patience_s_;
  Progress progress_;
  CoreTimeLimit quiet_;  ///< since something happened
  CoreTimeLimit case_;   ///< since the case began
};

}  // namespace course
