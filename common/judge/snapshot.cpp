#include <algorithm>
#include <cstring>
#include <thread>

#include "judge/standstill.hpp"

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
  std::int32_t hop;
  std::int32_t signal;
  std::int32_t pending_count;
  PendingOperation pending[max_pending];
  std::uint64_t collectives;
  std::uint64_t sent_sum[max_summed_ranks];
  std::uint64_t received_sum[max_summed_ranks];
  char text[sizeof RankStatus::text];
};

void copy(const RankStatus& page, Fields& fields) {
  fields.phase = page.phase.load(std::memory_order_relaxed);
  fields.case_index = page.case_index.load(std::memory_order_relaxed);
  fields.completed = page.completed.load(std::memory_order_relaxed);
  fields.hop = page.hop;
  fields.signal = page.signal;
  fields.pending_count = page.pending_count;
  std::memcpy(fields.pending, page.pending, sizeof fields.pending);
  fields.collectives = page.collectives;
  std::memcpy(fields.sent_sum, page.sent_sum, sizeof fields.sent_sum);
  std::memcpy(fields.received_sum, page.received_sum, sizeof fields.received_sum);
  std::memcpy(fields.text, page.text, sizeof fields.text);
}

/// Returns false when no look found the page at rest.
bool copy_at_rest(const RankStatus& page, Fields& fields) {
  for (int look = 0; look < looks; ++look) {
    const std::uint64_t before = page.sequence.load(std::memory_order_acquire);
    copy(page, fields);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 == 0 && page.sequence.load(std::memory_order_relaxed) == before) return true;
    std::this_thread::yield();
  }
  return false;
}

/// How many bytes the UTF-8 character at `at` has; 0 if it is none.
std::size_t utf8_length(const std::string& text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(at);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return 0;
  }
  const unsigned second = byte(at + 1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool no_character = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || no_character ? 0 : length;
}

/// The text up to its end, '?' for what is not UTF-8 and for control characters but the line feed.
std::string clean_text(const char* begin, std::size_t room) {
  const std::string raw(begin, strnlen(begin, room));
  std::string clean;
  for (std::size_t at = 0; at < raw.size();) {
    const std::size_t length = utf8_length(raw, at);
    const bool control = length == 1 && (raw[at] == 0x7F || (raw[at] < 0x20 && raw[at] != '\n'));
    clean += length == 0 || control ? "?" : raw.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return clean;
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

}  // namespace

RankSnapshot snapshot(const RankStatus& status) {
  Fields fields{};
  RankSnapshot taken;
  const bool at_rest = copy_at_rest(status, fields);
  const bool is_phase = fields.phase <= static_cast<std::uint32_t>(Phase::Done);
  taken.phase = is_phase ? static_cast<Phase>(fields.phase) : Phase::Computing;
  if (!at_rest && (taken.phase == Phase::Blocked || taken.phase == Phase::Polling))
    taken.phase = Phase::Computing;
  taken.case_index = fields.case_index;
  taken.completed = fields.completed;
  taken.hop = fields.hop;
  taken.signal = fields.signal;
  taken.pending = clean_pending(fields);
  taken.pending_complete = fields.pending_count == static_cast<std::int32_t>(taken.pending.size());
  taken.text = clean_text(fields.text, sizeof fields.text);
  taken.collectives = fields.collectives;
  std::copy_n(fields.sent_sum, max_summed_ranks, taken.sent_sum.begin());
  std::copy_n(fields.received_sum, max_summed_ranks, taken.received_sum.begin());
  return taken;
}

}  // namespace course
