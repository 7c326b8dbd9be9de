#include "judge/conduct.hpp"

#include <fmt/format.h>

#include "mpi_layer/facts.hpp"

namespace course::conduct {

namespace {

/// One finding for the first rank whose report has a fact of `kind`.
Conduct without_fact(const char* kind, std::string mistake) {
  return
      [kind, mistake = std::move(mistake)](const Example&, const Outcome& outcome) -> std::vector<Finding> {
        for (std::size_t rank = 0; rank < outcome.reports.size(); ++rank) {
          for (const auto& [seen, text] : outcome.reports[rank].facts) {
            if (seen == kind) return {{mistake, fmt::format("rank {}: {}", rank, text)}};
          }
        }
        return {};
      };
}

std::int64_t total_sent(const RankReport& report) {
  std::int64_t bytes = 0;
  for (const auto& [peer, sent] : report.bytes_sent_to) bytes += sent;
  return bytes;
}

/// One finding for the first rank whose measure exceeds its limit.
template <class Measure, class Limit>
std::vector<Finding> at_most(const Outcome& outcome, Measure measure, Limit limit, const std::string& mistake,
                             const char* what) {
  for (std::size_t rank = 0; rank < outcome.reports.size(); ++rank) {
    const std::int64_t seen = measure(outcome.reports[rank]);
    const std::int64_t allowed = limit(static_cast<int>(rank));
    if (seen > allowed) {
      return {
          {mistake, fmt::format("rank {} {} {} bytes, at most {} are allowed", rank, what, seen, allowed)}};
    }
  }
  return {};
}

}  // namespace

Conduct uses_only_its_communicator(std::string mistake) {
  return without_fact(mpi_layer::fact_world, std::move(mistake));
}

Conduct names_its_sources(std::string mistake) {
  return without_fact(mpi_layer::fact_any_source, std::move(mistake));
}

Conduct never_talks_to_itself(std::string mistake) {
  return without_fact(mpi_layer::fact_self_message, std::move(mistake));
}

Conduct keeps_buffers_apart(std::string mistake) {
  return without_fact(mpi_layer::fact_overlapping_buffers, std::move(mistake));
}

Conduct sends_at_most(std::function<std::int64_t(const Example&, int)> limit, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) {
    return at_most(
        outcome, total_sent, [&](int rank) { return limit(example, rank); }, mistake, "sent");
  };
}

Conduct gathers_at_most(std::function<std::int64_t(const Example&, int)> limit, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) {
    const auto received = [](const RankReport& report) { return report.collective_bytes; };
    return at_most(
        outcome, received, [&](int rank) { return limit(example, rank); }, mistake,
        "received through collectives");
  };
}

Conduct sends_only_to_next(std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    const int world_size = example.ranks();
    if (world_size < 3) return {};
    for (std::size_t rank = 0; rank < outcome.reports.size(); ++rank) {
      const int next = (static_cast<int>(rank) + 1) % world_size;
      for (const auto& [peer, bytes] : outcome.reports[rank].bytes_sent_to) {
        if (peer == next || bytes == 0) continue;
        return {{mistake, fmt::format("rank {} sent {} bytes to rank {}; it should send to rank {} only",
                                      rank, bytes, peer, next)}};
      }
    }
    return {};
  };
}

Conduct uses_memory_at_most(std::function<std::int64_t(const Example&)> limit, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) {
    const auto peak = [](const RankReport& report) { return report.peak_bytes; };
    return at_most(
        outcome, peak, [&](int) { return limit(example); }, mistake, "held at its peak");
  };
}

Conduct stands_still(std::function<bool(const Example&, const Standstill&)> recognises, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    if (!outcome.standstill || !recognises(example, *outcome.standstill)) return {};
    return {{mistake, ""}};
  };
}

}  // namespace course::conduct
