#include "runner/status_pages.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <thread>

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

void add_report(const PlayedFolder& folder, int case_rank, RankSnapshot& rank) {
  if (!has_report(folder, case_rank)) return;
  try {
    const RankReport report = read_report(folder, case_rank);
    rank.phase = report.ending == "finished" ? Phase::Finished : Phase::Threw;
    rank.text = report.what;
    rank.facts = report.facts;
  } catch (const std::runtime_error&) {
    // Not written whole. It will be read again, and in the end by someone who says what is wrong with it.
  }
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

WatchedRanks::WatchedRanks(const std::filesystem::path& pages, const std::vector<PlayedFolder>& folders,
                           const std::vector<std::vector<int>>& world_ranks, int world_size)
    : pages_(open(pages.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)),
      folders_(folders),
      world_ranks_(world_ranks),
      world_size_(world_size) {
  if (pages_.get() < 0 || ftruncate(pages_.get(), static_cast<off_t>(world_size * sizeof(RankStatus))) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make " + pages.string());
}

/// The first thing that a player writes to its page is its process.
std::vector<RankSnapshot> WatchedRanks::look() {
  const std::vector<RankSnapshot> all = look_at_pages();
  const bool kept = std::ranges::any_of(all, [](const RankSnapshot& rank) { return rank.pid != 0; });
  return kept ? all : look_at_reports();
}

std::vector<RankSnapshot> WatchedRanks::look_at_pages() const {
  std::vector<RankSnapshot> all;
  for (int rank = 0; rank < world_size_; ++rank) {
    all.push_back(snapshot([&](void* bytes, std::size_t count, std::size_t offset) {
      const auto at = static_cast<off_t>(rank * sizeof(RankStatus) + offset);
      [[maybe_unused]] const ssize_t ignored = pread(pages_.get(), bytes, count, at);
    }));
  }
  return all;
}

/// What the pages would say, as far as the reports tell.
std::vector<RankSnapshot> WatchedRanks::look_at_reports() {
  current_ = std::min(first_unreported(), folders_.size() - 1);
  std::vector<RankSnapshot> all(world_size_);
  for (RankSnapshot& rank : all) rank.case_index = static_cast<std::int32_t>(current_);
  for (std::size_t rank = 0; rank < world_ranks_[current_].size(); ++rank)
    add_report(folders_[current_], static_cast<int>(rank), all[world_ranks_[current_][rank]]);
  return all;
}

std::size_t WatchedRanks::first_unreported() const {
  std::size_t index = current_;
  while (index < folders_.size() && all_reported(index)) ++index;
  return index;
}

bool WatchedRanks::all_reported(std::size_t index) const {
  for (std::size_t rank = 0; rank < world_ranks_[index].size(); ++rank) {
    if (!has_report(folders_[index], static_cast<int>(rank))) return false;
  }
  return true;
}

}  // namespace course
