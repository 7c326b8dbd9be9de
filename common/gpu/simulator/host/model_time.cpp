#include "gpu/simulator/host/model_time.hpp"

#include <algorithm>
#include <string>

#include "gpu/simulator/findings/source_lines.hpp"

namespace course::gpu {

namespace {

/// "block of rank 2: see_block", "the ring: the NCCL group on line 88"
std::string label_of(const OperationRecord& record) {
  return record.range + ": " + record.name + (record.is_kernel ? "" : " on " + line_text(record.line));
}

std::vector<Span> spans_of(unsigned timeline, int stream) {
  std::vector<Span> spans;
  for (const OperationNumber number : operations_of(timeline)) {
    const OperationRecord& record = record_of(number);
    if (record.range.empty() || record.time.length_s == 0) continue;
    const ModelTime& time = record.time;
    if (time.begin_s > time.ready_s)
      spans.push_back({Span::Kind::Wait, time.ready_s, time.begin_s, "for another rank", stream});
    spans.push_back({record.is_kernel ? Span::Kind::Compute : Span::Kind::Transfer, time.begin_s,
                     time.end_s(), label_of(record), stream});
  }
  return spans;
}

}  // namespace

void begin_in_model(OperationNumber number) {
  OperationRecord& record = record_of(number);
  if (record.time.ready_s >= 0) return;
  double ready_s = 0;
  for (unsigned timeline = host_timeline + 1; timeline < timelines(); ++timeline) {
    // Its clock includes the operation itself.
    const std::uint32_t before = record.clock.of(timeline) - (timeline == record.timeline ? 1 : 0);
    if (before > 0) ready_s = std::max(ready_s, record_of(operations_of(timeline)[before - 1]).time.end_s());
  }
  record.time.ready_s = record.time.begin_s = ready_s;
}

void wait_in_model(OperationNumber number, double ready_s) {
  ModelTime& time = record_of(number).time;
  time.begin_s = std::max(time.begin_s, ready_s);
}

void set_length_in_model(OperationNumber number, double length_s) {
  record_of(number).time.length_s = length_s;
}

std::vector<Span> spans_in_model() {
  std::vector<Span> all;
  int streams = 0;
  for (unsigned timeline = host_timeline + 1; timeline < timelines(); ++timeline) {
    const std::vector<Span> own = spans_of(timeline, streams + 1);
    if (!own.empty()) ++streams;
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

}  // namespace course::gpu
