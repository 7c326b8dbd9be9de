#include "demo/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace course::demo {

namespace {

constexpr double longest_gap_s = 0.5;

std::string what_each_does(const std::vector<RankSnapshot>& ranks) {
  std::string computing;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].phase == Phase::Computing)
      computing += fmt::format("{}{}", computing.empty() ? "" : ", ", rank);
  }
  if (!computing.empty()) return "these ranks are inside the lesson's code, outside MPI: " + computing;
  return ranks.empty() || ranks[0].text.empty() ? "the ranks have not begun"
                                                : "rank 0 was last " + ranks[0].text;
}

}  // namespace

std::optional<std::string> find_casualty(const std::vector<RankSnapshot>& ranks) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].phase == Phase::Crashed) {
      return fmt::format("rank {} died of signal {} ({}) {}", rank, ranks[rank].signal,
                         strsignal(ranks[rank].signal), after_receives(ranks[rank].receives));
    }
    if (ranks[rank].phase == Phase::Threw) return fmt::format("rank {} threw: {}", rank, ranks[rank].text);
  }
  return std::nullopt;
}

std::optional<std::string> Watch::look(const std::vector<RankSnapshot>& ranks, Clock::time_point now) {
  note_progress(ranks, now);
  if (std::optional<std::string> casualty = find_casualty(ranks)) return casualty;
  if (quiet_s_ >= proven_deadlock_s) {
    const std::optional<Deadlock> still = find_deadlock(ranks);
    if (still && quiet_s_ >= (still->proven ? proven_deadlock_s : deadlock_s)) {
      return "the ring stands still\n" + still->text;
    }
  }
  if (quiet_s_ < patience_s_) return std::nullopt;
  return fmt::format("nothing has happened for {:.0f} s; {}", quiet_s_, what_each_does(ranks));
}

void Watch::note_progress(const std::vector<RankSnapshot>& ranks, Clock::time_point now) {
  std::string seen;
  for (const RankSnapshot& rank : ranks) {
    seen += fmt::format("{} {} {} {}\n", static_cast<int>(rank.phase), rank.case_index, rank.completed,
                        rank.text);
  }
  const double gap_s = last_look_ ? std::chrono::duration<double>(now - *last_look_).count() : 0;
  quiet_s_ = seen == seen_ ? quiet_s_ + std::min(gap_s, longest_gap_s) : 0;
  last_look_ = now;
  seen_ = std::move(seen);
  if (!ranks.empty()) news_ = ranks[0].text;
}

}  // namespace course::demo
