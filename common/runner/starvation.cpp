#include "runner/starvation.hpp"

#include <algorithm>

#include "runner/processes.hpp"

namespace course {

double Starvation::seconds(const std::vector<RankSnapshot>& ranks) const {
  if (!since_) return 0;
  std::optional<double> least;
  const std::map<pid_t, double> now = queued();
  for (const RankSnapshot& rank : ranks) {
    const auto found = now.find(rank.pid);
    if (found == now.end() || (rank.phase != Phase::Computing && rank.phase != Phase::Starting)) continue;
    const auto before = since_->find(rank.pid);
    const double waited = found->second - (before == since_->end() ? 0 : before->second);
    least = std::min(least.value_or(waited), waited);
  }
  return least.value_or(0);
}

/// By the pid that the process itself sees.
std::map<pid_t, double> Starvation::queued() const {
  std::vector<pid_t> all = descendants(launch_);
  all.push_back(launch_);
  std::map<pid_t, double> seconds;
  for (const pid_t pid : all) seconds[own_pid(pid)] = queued_s(pid);
  return seconds;
}

}  // namespace course
