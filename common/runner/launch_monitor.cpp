#include "runner/launch_monitor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runner/processes.hpp"

namespace course {

namespace {

/// Time without a core counts for nothing, up to so many times a case's limit.
constexpr double starvation_limits = 5;

/// "rank 0, 2"; empty if no rank is in that phase.
std::string ranks_in(Phase phase, const std::vector<RankSnapshot>& ranks) {
  std::string text;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].phase == phase) text += (text.empty() ? "rank " : ", ") + std::to_string(rank);
  }
  return text;
}

}  // namespace

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

std::vector<RankSnapshot> in_case_order(const std::vector<RankSnapshot>& world,
                                        const std::vector<int>& world_ranks) {
  std::vector<RankSnapshot> ordered;
  for (const int world_rank : world_ranks) ordered.push_back(world[world_rank]);
  return ordered;
}

std::string computing_ranks(const std::vector<RankSnapshot>& ranks) {
  return ranks_in(Phase::Computing, ranks);
}

std::optional<Outcome> thrown_by(const std::vector<RankSnapshot>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].phase != Phase::Threw) continue;
    const std::string who = ranks.size() > 1 ? rank_label(rank, ranks.size()) + " " : "";
    return Outcome{.ending = Outcome::Ending::Threw, .text = who + "threw: " + ranks[rank].text};
  }
  return std::nullopt;
}

std::optional<Outcome> LaunchMonitor::look(const std::vector<RankSnapshot>& world) {
  note_progress(world);
  if (case_index_ < 0 || case_index_ >= static_cast<int>(world_ranks_.size())) {
    return past_limit(world) ? std::optional(stuck("stuck in compute", "before the first case"))
                             : std::nullopt;
  }
  const std::vector<RankSnapshot> ranks = in_case_order(world, world_ranks_[case_index_]);
  if (quiet_s() > proven_deadlock_s) {
    if (std::optional<Outcome> thrown = look_for_throw(ranks)) return thrown;
    if (std::optional<Outcome> still = look_for_deadlock(ranks)) return still;
  }
  if (!past_limit(world)) return std::nullopt;
  if (std::optional<Outcome> thrown = thrown_by(ranks)) return thrown;
  return stuck_in(ranks);
}

/// Whether nothing has happened for too long, though there was a core to run on.
bool LaunchMonitor::past_limit(const std::vector<RankSnapshot>& world) const {
  const double quiet = quiet_s();
  if (quiet <= quiet_limit_s_) return false;
  return quiet - std::min(starvation_.seconds(world), starvation_limits * quiet_limit_s_) > quiet_limit_s_;
}

void LaunchMonitor::note_progress(const std::vector<RankSnapshot>& world) {
  std::uint64_t completed = 0;
  int case_index = world.empty() ? -1 : world[0].case_index;
  std::uint64_t phases = 0;
  for (const RankSnapshot& rank : world) {
    completed += rank.completed;
    case_index = std::min(case_index, rank.case_index);
    phases = phases * 31 + static_cast<std::uint64_t>(rank.phase);
  }
  if (case_index != case_index_ || completed != completed_ || phases != phases_) {
    last_progress_s_ = now_s();
    starvation_.stop();
  } else if (!starvation_.is_counted() && quiet_s() > quiet_limit_s_ / 10) {
    starvation_.start();
  }
  case_index_ = case_index;
  completed_ = completed;
  phases_ = phases;
}

/// Ranks that threw while others wait inside MPI: nobody will ever answer those.
std::optional<Outcome> LaunchMonitor::look_for_throw(const std::vector<RankSnapshot>& ranks) const {
  return std::ranges::any_of(ranks, waits) ? thrown_by(ranks) : std::nullopt;
}

std::optional<Outcome> LaunchMonitor::look_for_deadlock(const std::vector<RankSnapshot>& ranks) const {
  std::optional<Deadlock> still = find_deadlock(ranks);
  if (!still || (!still->proven && quiet_s() < deadlock_patience_s_)) return std::nullopt;
  return Outcome{.ending = Outcome::Ending::Deadlock, .text = still->text, .deadlock = still};
}

/// Ranks that have not even begun, as far as anybody can see, belong to a player that keeps no page.
Outcome LaunchMonitor::stuck_in(const std::vector<RankSnapshot>& ranks) const {
  const bool alone = ranks.size() == 1;
  const std::string computing = computing_ranks(ranks);
  if (!computing.empty()) return stuck("stuck in compute", alone ? "" : computing);
  const std::string silent = ranks_in(Phase::Starting, ranks);
  if (silent.empty()) return stuck("stuck in compute", "no rank in particular");
  return stuck("stuck, in compute or in MPI",
               alone ? "no report; a status page would tell where it is"
                     : "no report from " + silent + "; a status page would tell where they are");
}

Outcome LaunchMonitor::stuck(const std::string& how, const std::string& where) const {
  const std::string place = where.empty() ? "" : " (" + where + ")";
  return {
      .ending = Outcome::Ending::Stuck,
      .text = fmt::format("{}: nothing happened for {} s{}", how, static_cast<int>(quiet_limit_s_), place)};
}

}  // namespace course
