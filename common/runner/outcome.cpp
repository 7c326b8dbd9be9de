#include "runner/outcome.hpp"

#include <algorithm>
#include <cstring>

#include "protocol/fact_kinds.hpp"

namespace course {

std::string of_signal(int signal) {
  return "of signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

std::vector<RankRecord> rank_records(const Outcome& outcome) {
  std::vector<RankRecord> all;
  for (std::size_t rank = 0; rank < outcome.timings.size(); ++rank) {
    const RankReport& report = outcome.reports[rank];
    const RankTiming& timing = outcome.timings[rank];
    RankRecord& record = all.emplace_back();
    record.call = timing.calls.at(static_cast<std::size_t>(timing.shown));
    record.trace = {static_cast<int>(rank), timing.spans};
    const bool by_nccl = !report.nccl_bytes_sent_to.empty();
    for (const auto& sent : {by_nccl ? messages_by_peer(report.traffic) : bytes_by_peer(report.traffic),
                             report.nccl_bytes_sent_to})
      for (const auto& [peer, bytes] : sent) record.bytes_sent += bytes;
    record.collective_bytes = std::max<std::int64_t>(report.collective_bytes, 0);
    for (const Fact& fact : report.facts) {
      if (fact.kind != fact_collective) record.facts.push_back(fact.text);
    }
    record.host_id = timing.host_id;
    record.cores = timing.cores;
  }
  return all;
}

std::vector<double> slowest_seconds(const Outcome& outcome) {
  std::vector<double> seconds(outcome.timings.at(0).calls.size(), 0);
  for (const RankTiming& timing : outcome.timings) {
    for (std::size_t i = 0; i < seconds.size(); ++i)
      seconds[i] = std::max(seconds[i], timing.calls.at(i).end_s - timing.calls.at(i).begin_s);
  }
  return seconds;
}

}  // namespace course
