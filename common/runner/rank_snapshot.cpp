#include <unistd.h>

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

/// What a page says at one moment.
struct Fields {
  std::uint32_t phase;
  std::int32_t case_index;
  std::uint64_t completed;
  std::int32_t pid;
  std::int32_t receives;
  std::int32_t signal;
  std::int32_t pending_count;
  PendingOperation pending[max_pending];
  std::uint64_t collectives;
  std::uint64_t sent_sum[max_summed_ranks];
  std::uint64_t received_sum[max_summed_ranks];
  char text[sizeof RankStatus::text];
  char facts[sizeof RankStatus::facts];
};

void copy(const RankStatus& page, Fields& fields) {
  fields.phase = page.phase.load(std::memory_order_relaxed);
  fields.case_index = page.case_index.load(std::memory_order_relaxed);
  fields.completed = page.completed.load(std::memory_order_relaxed);
  fields.pid = page.pid;
  fields.receives = page.receives;
  fields.signal = page.signal;
  fields.pending_count = page.pending_count;
  std::memcpy(fields.pending, page.pending, sizeof fields.pending);
  fields.collectives = page.collectives;
  std::memcpy(fields.sent_sum, page.sent_sum, sizeof fields.sent_sum);
  std::memcpy(fields.received_sum, page.received_sum, sizeof fields.received_sum);
  std::memcpy(fields.text, page.text, sizeof fields.text);
  std::memcpy(fields.facts, page.facts, sizeof fields.facts);
}

/// A page in this process's memory.
class MappedPage {
 public:
  explicit MappedPage(const RankStatus& page) : page_(page) {}
  std::uint64_t sequence() const { return page_.sequence.load(std::memory_order_acquire); }
  void copy_to(Fields& fields) const {
    copy(page_, fields);
    std::atomic_thread_fence(std::memory_order_acquire);
  }

 private:
  const RankStatus& page_;
};

/// A page of a file that others have mapped.
class FilePage {
 public:
  FilePage(int file, int rank) : file_(file), begin_(static_cast<off_t>(rank * sizeof(RankStatus))) {}
  std::uint64_t sequence() const {
    std::uint64_t value = 0;
    read(&value, sizeof value, offsetof(RankStatus, sequence));
    return value;
  }
  void copy_to(Fields& fields) const {
    const auto page = std::make_unique<RankStatus>();
    read(page.get(), sizeof *page, 0);
    copy(*page, fields);
  }

 private:
  /// What a file that was cut short does not hold stays as it is.
  void read(void* bytes, std::size_t count, std::size_t offset) const {
    [[maybe_unused]] const ssize_t ignored = pread(file_, bytes, count, begin_ + static_cast<off_t>(offset));
  }

  int file_;
  off_t begin_;
};

/// Returns false when no look found the page at rest.
template <class Page>
bool copy_at_rest(const Page& page, Fields& fields) {
  for (int look = 0; look < looks; ++look) {
    const std::uint64_t before = page.sequence();
    page.copy_to(fields);
    if (before % 2 == 0 && page.sequence() == before) return true;
    std::this_thread::yield();
  }
  return false;
}

std::string clean_text(const char* begin, std::size_t room) {
  return clean_utf8({begin, strnlen(begin, room)}, "?");
}

bool is_valid(const PendingOperation& operation) {
  return operation.kind <= PendingOperation::Kind::Collective &&
         operation.need <= PendingOperation::Need::Any;
}

std::vector<PendingOperation> clean_pending(const Fields& fields) {
  const int count = std::clamp(fields.pending_count, 0, max_pending);
  std::vector<PendingOperation> kept;
  for (int i = 0; i < count; ++i) {
    if (!is_valid(fields.pending[i])) continue;
    PendingOperation& operation = kept.emplace_back(fields.pending[i]);
    const std::string call = clean_text(operation.call, sizeof operation.call);
    std::memset(operation.call, 0, sizeof operation.call);
    call.copy(operation.call, sizeof operation.call - 1);
  }
  return kept;
}

/// Lines "kind<tab>text"; one that is cut off or was never whole is left out.
Facts facts_in(const char (&page_facts)[sizeof RankStatus::facts]) {
  const std::string text = clean_text(page_facts, sizeof page_facts);
  Facts facts;
  for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const std::size_t tab = text.find('\t', begin);
    if (tab < end) facts.emplace_back(text.substr(begin, tab - begin), text.substr(tab + 1, end - tab - 1));
  }
  return facts;
}

template <class Page>
RankSnapshot taken_of(const Page& page) {
  Fields fields{};
  RankSnapshot taken;
  const bool at_rest = copy_at_rest(page, fields);
  const bool is_phase = fields.phase <= static_cast<std::uint32_t>(Phase::Done);
  taken.phase = is_phase ? static_cast<Phase>(fields.phase) : Phase::Computing;
  if (!at_rest && (taken.phase == Phase::Blocked || taken.phase == Phase::Polling))
    taken.phase = Phase::Computing;
  taken.case_index = fields.case_index;
  taken.completed = fields.completed;
  taken.pid = fields.pid;
  taken.receives = fields.receives;
  taken.signal = fields.signal;
  taken.pending = clean_pending(fields);
  taken.pending_complete = fields.pending_count == static_cast<std::int32_t>(taken.pending.size());
  taken.text = clean_text(fields.text, sizeof fields.text);
  taken.facts = facts_in(fields.facts);
  taken.collectives = fields.collectives;
  std::copy_n(fields.sent_sum, max_summed_ranks, taken.sent_sum.begin());
  std::copy_n(fields.received_sum, max_summed_ranks, taken.received_sum.begin());
  return taken;
}

}  // namespace

RankSnapshot snapshot(const RankStatus& status) {
  return taken_of(MappedPage(status));
}

RankSnapshot snapshot(int file, int rank) {
  return taken_of(FilePage(file, rank));
}

}  // namespace course
