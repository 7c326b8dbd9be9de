#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runner/deadlock.hpp"

namespace course::demo {

/// Looks at the ranks of one run from outside, some times a second, and says when to stop waiting. Time in
/// which nobody looked hardly counts: on a machine that was asleep or overwhelmed the ranks have had no more
/// of it.
class Watch {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Watch(double patience_s) : patience_s_(patience_s) {}

  /// Why the run must be ended, if it must: a rank that threw or crashed, ranks that wait for each other, or
  /// nothing new for too long.
  std::optional<std::string> look(const std::vector<RankSnapshot>& ranks, Clock::time_point now);

  /// What rank 0 says it is doing.
  const std::string& news() const { return news_; }

 private:
  void note_progress(const std::vector<RankSnapshot>& ranks, Clock::time_point now);

  double patience_s_;
  std::string news_;
  std::string seen_;  ///< all that changes when something happens
  std::optional<Clock::time_point> last_look_;
  double quiet_s_ = 0;
};

/// The rank that threw or crashed, in words, if one did.
std::optional<std::string> find_casualty(const std::vector<RankSnapshot>& ranks);

}  // namespace course::demo
