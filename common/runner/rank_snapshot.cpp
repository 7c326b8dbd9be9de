#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>

#include "runner/deadlock.hpp"
#include "text/utf8.hpp"

namespace course {

namespace {

/// A rank writes its page in well under a microsecond; one that is still at it after so many looks was
/// stopped there.
constexpr int looks = 1000;

/// Fills `page` and returns true, or false when no look found it at rest.
bool copy_at_rest(const ReadPage& read, RankStatus& page) {
  for (int look = 0; look < looks; ++look) {
    std::uint64_t before = 0, after = 0;
    read(&before, sizeof before, offsetof(RankStatus, sequence));
    read(&page, sizeof page, 0);
    std::atomic_thread_fence(std::memory_order_acquire);
    read(&after, sizeof after, offsetof(RankStatus, sequence));
    if (before % 2 == 0 && after == before) return true;
    std::this_thread::yield();
  }
  return false;
}

std::string clean_text(const char* begin, std::size_t room) {
  return clean_utf8({begin, strnlen(begin, room)}, "?");
}

std::vector<PendingOperation> clean_pending(const RankStatus& page) {
  const int count = std::clamp(page.pending_count, 0, max_pending);
  std::vector<PendingOperation> kept;
  for (int i = 0; i < count; ++i) {
    PendingOperation operation = page.pending[i];
    const bool is_valid =
        operation.kind <= PendingOperation::Kind::Collective && operation.need <= PendingOperation::Need::Any;
    if (!is_valid) continue;
    const std::string call = clean_text(operation.call, sizeof operation.call);
    std::memset(operation.call, 0, sizeof operation.call);
    call.copy(operation.call, sizeof operation.call - 1);
    kept.push_back(operation);
  }
  return kept;
}

/// Lines "kind<tab>text"; one that is cut off or was never whole is left out.
Facts facts_in(const RankStatus& page) {
  const std::string text = clean_text(page.facts, sizeof page.facts);
  Facts facts;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::size_t tab = text.find('\t', begin);
    if (tab < end) facts.emplace_back(text.substr(begin, tab - begin), text.substr(tab + 1, end - tab - 1));
  }
  return facts;
}

}  // namespace

RankSnapshot snapshot(const ReadPage& read) {
  const auto page = std::make_unique<RankStatus>();
  RankSnapshot taken;
  const bool at_rest = copy_at_rest(read, *page);
  const auto phase = static_cast<Phase>(page->phase.load());
  const bool waits = phase == Phase::Blocked || phase == Phase::Polling;
  taken.phase = phase > Phase::Done || (waits && !at_rest) ? Phase::Computing : phase;
  taken.case_index = page->case_index;
  taken.completed = page->completed;
  taken.pid = page->pid;
  taken.receives = page->receives;
  taken.signal = page->signal;
  taken.pending = clean_pending(*page);
  taken.pending_complete = page->pending_count == static_cast<std::int32_t>(taken.pending.size());
  taken.text = clean_text(page->text, sizeof page->text);
  taken.facts = facts_in(*page);
  taken.collectives = page->collectives;
  std::ranges::copy(page->sent_sum, taken.sent_sum.begin());
  std::ranges::copy(page->received_sum, taken.received_sum.begin());
  return taken;
}

}  // namespace course
