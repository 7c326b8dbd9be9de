#include "gpu/simulator/findings/race_text.hpp"

#include <array>
#include <tuple>

#include "gpu/simulator/findings/findings.hpp"
#include "gpu/simulator/findings/source_lines.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

namespace {

constexpr unsigned lanes_of_a_warp = 32;

std::string thread_text(const Access& access) {
  const OperationRecord& record = record_of(access.operation);
  const unsigned lane = static_cast<unsigned>(__builtin_ctz(access.lanes));
  return "thread " + text_of(place(access.warp * lanes_of_a_warp + lane, record.block));
}

std::string block_text(const Access& access) {
  return "block " + text_of(place(access.block, record_of(access.operation).grid));
}

std::string verb(const Access& access) {
  if (access.kind == AccessKind::Lifetime)
    return record_of(access.operation).name == "cudaFreeAsync" ? " frees" : " allocates";
  constexpr std::array of_kinds{" reads", " writes", " updates atomically",
                                " updates within its block's scope"};
  return of_kinds[static_cast<std::size_t>(access.kind)];
}

/// Of the lanes that read alike, one other than the thread that races with them.
Access other_lane(Access earlier, const Access& later) {
  if (earlier.operation == later.operation && earlier.block == later.block && earlier.warp == later.warp &&
      (earlier.lanes & ~later.lanes) != 0)
    earlier.lanes &= ~later.lanes;
  return earlier;
}

bool are_writes(const Access& a, const Access& b) {
  return a.kind == AccessKind::Write && b.kind == AccessKind::Write;
}

bool is_in_default_stream(OperationNumber number) {
  return record_of(number).timeline == default_timeline;
}

/// Which of the two stands in the default stream, where the other does not: often its launch names no stream.
std::string default_stream_text(OperationNumber a, OperationNumber b) {
  if (is_in_default_stream(a) == is_in_default_stream(b)) return "";
  return "; " + name_of(is_in_default_stream(a) ? a : b) + " is in the default stream";
}

bool are_in_a_line(const Access& a, const Access& b) {
  return source_place(a.site) == source_place(b.site);
}

std::vector<std::string> marks_of(const Access& earlier, const Access& later, Region region,
                                  bool same_value) {
  const bool same_operation = earlier.operation == later.operation;
  const bool reads = earlier.kind == AccessKind::Read || later.kind == AccessKind::Read;
  std::vector<std::string> marks{mark_of(region)};
  if (reads) marks.emplace_back(mark_reads);
  if (earlier.kind == AccessKind::Write) marks.emplace_back(mark_after_write);
  if (are_writes(earlier, later)) marks.emplace_back(mark_both_write);
  if (same_operation && are_in_a_line(earlier, later)) marks.emplace_back(mark_one_line);
  if (same_value) marks.emplace_back(mark_same_value);
  if (!same_operation && is_in_default_stream(earlier.operation) != is_in_default_stream(later.operation))
    marks.emplace_back(mark_default_stream);
  return marks;
}

std::string cause(const Access& earlier, const Access& later, Region region) {
  if (earlier.operation != later.operation)
    return "neither a stream, nor an event, nor a wait of the host's puts one before the other; called "
           "first: " +
           name_of(first_called(earlier.operation, later.operation)) +
           default_stream_text(earlier.operation, later.operation);
  if (earlier.block != later.block) return "nothing orders the blocks of a launch";
  const bool in_a_line = are_in_a_line(earlier, later);
  if (are_writes(earlier, later)) {
    std::string text = "no barrier orders the two, so that either's value may stay";
    if (in_a_line)
      text += "; each thread needs an entry of its own, or a loop around it a barrier in every round";
    if (region == Region::Shared)
      text +=
          std::string("; if ") + (in_a_line ? "the line fills" : "these are") + " two arrays, they overlap";
    return text;
  }
  if (in_a_line)
    return "no barrier stands within a line: each thread needs an entry of its own there, or a loop around "
           "it "
           "a barrier in every round";
  return "no barrier between them orders the two";
}

/// The place in the source, which an operation that is no kernel names by itself.
std::string on_line(const Access& access) {
  return access.site == 0 ? "" : " on " + source_line(access.site);
}

}  // namespace

bool tell_unordered_free(const void* address, const Access& access) {
  const OperationNumber freed_by = who_freed(address);
  if (freed_by == 0 || happens_before(freed_by, *now.clock)) return false;
  tell_race({.operation = freed_by, .kind = AccessKind::Lifetime}, access, Region::Device, false);
  return true;
}

std::string call_of(OperationNumber operation) {
  const OperationRecord& record = record_of(operation);
  return record.timeline == host_timeline ? name_of(operation) : record.name;
}

SourcePlace place_of(const Access& access) {
  return access.site != 0 ? source_place(access.site) : call_place(record_of(access.operation).line);
}

std::string text_of(const Access& access) {
  const OperationRecord& record = record_of(access.operation);
  if (!record.is_kernel) return name_of(access.operation) + on_line(access);
  return record.name + ", " + block_text(access) + ", " + thread_text(access) + on_line(access);
}

void tell_race(const Access& earlier_lanes, const Access& later, Region region, bool same_value) {
  const Access earlier = other_lane(earlier_lanes, later);
  const bool same_operation = earlier.operation == later.operation;
  const bool same_block = same_operation && earlier.block == later.block;
  const char* const kind = !same_operation ? fact_missing_dependency
                           : !same_block   ? fact_race_between_blocks
                                           : fact_race_in_block;
  const auto site = [](const Access& a) { return a.site != 0 ? a.site : a.operation; };
  if (!is_first(kind, site(earlier), site(later))) return;
  const std::string other = !same_operation ? text_of(earlier)
                            : !same_block
                                ? block_text(earlier) + ", " + thread_text(earlier) + on_line(earlier)
                                : thread_text(earlier) + on_line(earlier);
  const bool later_is_first =
      !same_operation && first_called(earlier.operation, later.operation) == later.operation;
  const auto& [first, second] = later_is_first ? std::tie(later, earlier) : std::tie(earlier, later);
  note({.kind = kind,
        .text = text_of(later) + verb(later) + " " + name_of(region) + ", and " + other + verb(earlier) +
                " the same bytes: " + cause(earlier, later, region) +
                (same_value ? " (both write the same value, which is a race all the same)" : ""),
        .call = call_of(first.operation),
        .other_call = same_operation ? "" : call_of(second.operation),
        .at = place_of(first),
        .other_at = place_of(second),
        .marks = marks_of(earlier, later, region, same_value)});
}

}  // namespace course::gpu
