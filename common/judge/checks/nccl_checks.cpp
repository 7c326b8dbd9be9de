#include "judge/checks/nccl_checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace course::checks {

namespace {

bool is_work_on_a_block(const std::string& kernel) {
  return kernel.starts_with(work_on_block_of);
}

}  // namespace

CommunicationCheck of_nccl(CommunicationCheck look) {
  return [look = std::move(look)](const Example& example, const Outcome& outcome) {
    Outcome by_nccl{.ending = outcome.ending, .facts = outcome.facts, .reports = outcome.reports};
    for (RankReport& report : by_nccl.reports) {
      report.traffic = traffic_of(report.nccl_bytes_sent_to, "ncclSend");
      report.collective_bytes = report.nccl_collective_bytes;
    }
    return look(example, by_nccl);
  };
}

CommunicationCheck hides_its_transfers(Limit limit) {
  return [limit = std::move(limit)](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    if (outcome.ending != Outcome::Ending::Finished || example.ranks() == 1 ||
        std::ranges::count(example.layout.shard_tokens(), 0) > 0)
      return {};
    for (std::size_t rank = 0; rank < outcome.reports.size(); ++rank) {
      std::int64_t bytes = 0;
      std::vector<std::string> calls;
      for (const NcclGroup& group : outcome.reports[rank].nccl_groups) {
        if (group.bytes_sent == 0 || std::ranges::any_of(group.beside, is_work_on_a_block)) continue;
        bytes += group.bytes_sent;
        if (std::ranges::count(calls, group.call) == 0) calls.push_back(group.call);
      }
      if (bytes <= limit(example, static_cast<int>(rank))) continue;
      return {{"nothing_hidden", "rank " + std::to_string(rank) + " sends " + std::to_string(bytes) +
                                     " bytes while no work on a block may go on, since something orders all "
                                     "of it before or behind " +
                                     fmt::format("{}", fmt::join(calls, ", "))}};
    }
    return {};
  };
}

CommunicationCheck has_rooms_for(int blocks, int gradients) {
  const int pairs = blocks + gradients;
  const std::string rooms = std::to_string(blocks) + " rooms of K and V" +
                            (gradients > 0 ? " and " + std::to_string(gradients) + " of dK and dV" : "");
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    const std::int64_t pair = bytes_of_block(example, std::ranges::max(example.layout.shard_tokens()));
    for (const RankReport& report : outcome.reports) {
      if (2 * report.device_peak_bytes > 3 * pairs * pair)
        return {{"room_for_every_block", std::to_string(report.device_peak_bytes) +
                                             " bytes of device memory at once; " +
                                             std::to_string(pairs * pair) + " are enough, for " + rooms}};
    }
    return {};
  };
}

}  // namespace course::checks
