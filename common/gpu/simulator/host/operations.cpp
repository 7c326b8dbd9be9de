#include "gpu/simulator/host/operations.hpp"

#include <algorithm>
#include <deque>
#include <utility>

#include "gpu/simulator/findings/source_lines.hpp"

namespace course::gpu {

namespace {
std::deque<OperationRecord> records;
std::vector<std::vector<OperationNumber>> of_timeline;
}  // namespace

void Clock::advance(unsigned timeline, std::uint32_t count) {
  if (timeline >= counts_.size()) counts_.resize(timeline + 1);
  counts_[timeline] = std::max(counts_[timeline], count);
}

void Clock::join(const Clock& other) {
  for (unsigned timeline = 0; timeline < other.counts_.size(); ++timeline)
    advance(timeline, other.counts_[timeline]);
}

OperationRecord& record_of(OperationNumber number) {
  return records[number - 1];
}

OperationNumber add_record(OperationRecord record) {
  records.push_back(std::move(record));
  const auto number = static_cast<OperationNumber>(records.size());
  const OperationRecord& added = records.back();
  if (added.timeline != host_timeline && added.part_of == 0) {
    if (added.timeline >= of_timeline.size()) of_timeline.resize(added.timeline + 1);
    of_timeline[added.timeline].push_back(number);
  }
  return number;
}

unsigned timelines() {
  return static_cast<unsigned>(of_timeline.size());
}

const std::vector<OperationNumber>& operations_of(unsigned timeline) {
  static const std::vector<OperationNumber> none;
  return timeline < of_timeline.size() ? of_timeline[timeline] : none;
}

bool happens_before(OperationNumber earlier, const Clock& clock) {
  const OperationRecord& record = record_of(earlier);
  return clock.of(record.timeline) >= record.index;
}

std::vector<std::string> kernels_beside(OperationNumber operation) {
  const OperationRecord& own = record_of(operation);
  std::vector<std::string> found;
  for (OperationNumber other = 1; other <= records.size(); ++other) {
    const OperationRecord& record = record_of(other);
    if (!record.is_kernel || happens_before(other, own.clock) || happens_before(operation, record.clock))
      continue;
    const std::string& name = record.range.empty() ? record.name : record.range;
    if (std::ranges::count(found, name) == 0) found.push_back(name);
  }
  return found;
}

OperationNumber first_called(OperationNumber a, OperationNumber b) {
  const auto called = [](OperationNumber number) {
    const OperationNumber whole = record_of(number).part_of;
    return whole == 0 ? number : whole;
  };
  return called(a) < called(b) ? a : b;
}

std::string name_of(OperationNumber number) {
  const OperationRecord& record = record_of(number);
  if (record.timeline == host_timeline) return "the host's code";
  return record.name + (record.is_kernel ? "<<<...>>>" : "") + " on " + line_text(record.line);
}

void forget_operations() {
  records.clear();
  of_timeline.clear();
}

}  // namespace course::gpu
