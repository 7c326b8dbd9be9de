#include "mpi_layer/page.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace course::mpi_layer {

StatusPage::StatusPage(RankStatus* watched) : page_(watched != nullptr ? watched : &unwatched_) {
  write_page(*page_, [](RankStatus& own) {
    own.receives = 0;
    own.pending_count = 0;
    own.collectives = 0;
    std::memset(own.sent_sum, 0, sizeof own.sent_sum);
    std::memset(own.received_sum, 0, sizeof own.received_sum);
    std::memset(own.facts, 0, sizeof own.facts);
  });
}

void StatusPage::show(Phase phase, const std::vector<PendingOperation>& pending, bool more) {
  const std::lock_guard guard(mutex_);
  write_page(*page_, [&](RankStatus& own) {
    const std::size_t kept = std::min<std::size_t>(pending.size(), max_pending);
    std::copy_n(pending.begin(), kept, own.pending);
    own.pending_count = more ? max_pending + 1 : static_cast<std::int32_t>(pending.size());
    own.phase = static_cast<std::uint32_t>(phase);
  });
}

void StatusPage::show(const std::vector<PendingOperation>& pending, bool more) {
  show(static_cast<Phase>(page_->phase.load()), pending, more);
}

void StatusPage::add(const Fact& fact) {
  std::string line = fact.kind + "\t" + fact.text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  const std::lock_guard guard(mutex_);
  write_page(*page_, [&](RankStatus& own) {
    const std::size_t used = strnlen(own.facts, sizeof own.facts);
    if (used + line.size() < sizeof own.facts) std::memcpy(own.facts + used, line.c_str(), line.size() + 1);
  });
}

void StatusPage::enter_completion(const std::function<void(RankStatus&)>& change) {
  const std::lock_guard guard(mutex_);
  write_page(*page_, [&](RankStatus& own) {
    if (own.phase == static_cast<std::uint32_t>(Phase::Blocked)) {
      own.phase = static_cast<std::uint32_t>(Phase::Computing);
    }
    change(own);
  });
  ++completions_;
}

std::string StatusPage::so_far() {
  const std::lock_guard guard(mutex_);
  return " (" + after_receives(page_->receives) + ")";
}

}  // namespace course::mpi_layer
