#include "runner/launch_monitor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "runner/subprocess.hpp"

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

/// "; rank 0 came as far as step 412 of 1000, loss 2.31": the first rank that has told anything; else empty.
std::string how_far(const std::vector<RankSnapshot>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const bool is_at_work = ranks[rank].phase != Phase::Threw && ranks[rank].phase != Phase::Crashed;
    if (is_at_work && !ranks[rank].text.empty())
      return fmt::format("; {} came as far as {}", rank_label(rank, ranks.size()), ranks[rank].text);
  }
  return "";
}

/// How long each process of a launch has stood ready to run without a core, by the pid that itself sees.
std::map<pid_t, double> queued(pid_t launch) {
  std::vector<pid_t> all = descendants(launch);
  all.push_back(launch);
  std::map<pid_t, double> seconds;
  for (const pid_t pid : all) seconds[own_pid(pid)] = queued_s(pid);
  return seconds;
}

/// How long ranks have stood ready to run since, while others had the cores: on a machine with more to do
/// than it can, a right answer takes its time. Of the rank that waited least, among those that have work of
/// their own to do; 0 if none has.
double starved_s(const std::map<pid_t, double>& before, const std::map<pid_t, double>& now,
                 const std::vector<RankSnapshot>& ranks) {
  std::optional<double> least;
  for (const RankSnapshot& rank : ranks) {
    const auto found = now.find(rank.pid);
    if (found == now.end() || (rank.phase != Phase::Computing && rank.phase != Phase::Starting)) continue;
    const auto former = before.find(rank.pid);
    const double waited = found->second - (former == before.end() ? 0 : former->second);
    least = std::min(least.value_or(waited), waited);
  }
  return least.value_or(0);
}

}  // namespace

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
    return Outcome{.ending = Outcome::Ending::Threw,
                   .text = who + "threw: " + ranks[rank].text,
                   .told = ranks[rank].told};
  }
  return std::nullopt;
}

std::optional<Outcome> crashed_by(const std::vector<RankSnapshot>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].phase != Phase::Crashed) continue;
    std::string text = rank_label(rank, ranks.size()) + " died " + of_signal(ranks[rank].signal);
    if (ranks.size() > 1) text += " " + after_receives(ranks[rank].receives);
    return Outcome{.ending = Outcome::Ending::Crashed, .text = text, .by_signal = true};
  }
  return std::nullopt;
}

std::optional<Outcome> LaunchMonitor::look(const std::vector<RankSnapshot>& world) {
  note_progress(world);
  if (case_index() < 0 || case_index() >= static_cast<int>(world_ranks_.size())) {
    return quiet_.is_past(world) ? std::optional(stuck("stuck in compute", "before the first case"))
                                 : std::nullopt;
  }
  const std::vector<RankSnapshot> ranks = in_case_order(world, world_ranks_[case_index()]);
  if (quiet_.seconds() > proven_deadlock_s) {
    // Nobody will ever answer those who wait inside MPI for a rank that threw or crashed.
    for (const auto gone : {thrown_by, crashed_by}) {
      std::optional<Outcome> said = gone(ranks);
      if (said && std::ranges::any_of(ranks, waits)) return said;
    }
    if (std::optional<Outcome> still = look_for_deadlock(ranks)) return still;
  }
  const bool too_quiet = quiet_.is_past(world);
  if (!too_quiet && !case_.is_past(world)) return std::nullopt;
  if (std::optional<Outcome> thrown = thrown_by(ranks)) return thrown;
  return too_quiet ? stuck_in(ranks) : not_done(ranks);
}

void CoreTimeLimit::restart(double limit_s) {
  limit_s_ = limit_s;
  begin_s_ = now_s();
  queued_before_.reset();
}

void CoreTimeLimit::look() {
  if (!queued_before_ && seconds() > limit_s_ / 10) queued_before_ = queued(launch_);
}

bool CoreTimeLimit::is_past(const std::vector<RankSnapshot>& world) const {
  const double lasted = seconds();
  if (lasted <= limit_s_) return false;
  const double starved = queued_before_ ? starved_s(*queued_before_, queued(launch_), world) : 0;
  return lasted - std::min(starved, starvation_limits * limit_s_) > limit_s_;
}

double LaunchMonitor::limit_of_case() const {
  const int index = case_index();
  const bool is_known = index >= 0 && index < std::ssize(case_limits_s_);
  return is_known ? case_limits_s_[static_cast<std::size_t>(index)] : std::numeric_limits<double>::infinity();
}

void LaunchMonitor::note_progress(const std::vector<RankSnapshot>& world) {
  Progress now{.case_index = world.empty() ? -1 : world[0].case_index};
  for (const RankSnapshot& rank : world) {
    now.completed += rank.completed;
    now.case_index = std::min(now.case_index, rank.case_index);
    now.phases = now.phases * 31 + static_cast<std::uint64_t>(rank.phase);
    now.told.push_back(rank.text);
  }
  const bool moved = now != progress_, is_next = now.case_index != progress_.case_index;
  progress_ = std::move(now);
  if (moved) quiet_.restart();
  if (is_next) case_.restart(limit_of_case());
  quiet_.look();
  case_.look();
}

std::optional<Outcome> LaunchMonitor::look_for_deadlock(const std::vector<RankSnapshot>& ranks) const {
  std::optional<Deadlock> still = find_deadlock(ranks);
  if (!still || (!still->proven && quiet_.seconds() < deadlock_patience_s_)) return std::nullopt;
  return Outcome{.ending = Outcome::Ending::Deadlock, .text = still->text, .deadlock = still};
}

/// Ranks that have not even begun, as far as anybody can see, belong to a player that keeps no page.
Outcome LaunchMonitor::stuck_in(const std::vector<RankSnapshot>& ranks) const {
  const bool alone = ranks.size() == 1;
  const std::string computing = computing_ranks(ranks);
  if (!computing.empty()) {
    Outcome outcome = stuck("stuck in compute", alone ? "" : computing);
    outcome.text += how_far(ranks);
    return outcome;
  }
  const std::string silent = ranks_in(Phase::Starting, ranks);
  if (silent.empty()) return stuck("stuck in compute", "no rank in particular");
  return stuck("stuck, in compute or in MPI",
               alone ? "no report; a status page would tell where it is"
                     : "no report from " + silent + "; a status page would tell where they are");
}

/// Something goes on in a case that should have ended long ago: an endless loop with calls of MPI in it.
Outcome LaunchMonitor::not_done(const std::vector<RankSnapshot>& ranks) const {
  std::vector<std::string> doing;
  for (const auto& [phase, what] : {std::pair{Phase::Computing, "in compute"},
                                    {Phase::Polling, "in tests of MPI that find nothing"},
                                    {Phase::Blocked, "in a call of MPI that waits"}}) {
    const std::string who = ranks_in(phase, ranks);
    if (!who.empty()) doing.push_back(ranks.size() == 1 ? what : who + " " + what);
  }
  return {.ending = Outcome::Ending::Stuck,
          .text = fmt::format("not done after {} s, though something happened all the time: {}{}",
                              static_cast<int>(limit_of_case()), fmt::join(doing, "; "), how_far(ranks))};
}

Outcome LaunchMonitor::stuck(const std::string& how, const std::string& where) const {
  const std::string place = where.empty() ? "" : " (" + where + ")";
  return {
      .ending = Outcome::Ending::Stuck,
      .text = fmt::format("{}: nothing happened for {} s{}", how, static_cast<int>(quiet_limit_s_), place)};
}

}  // namespace course
