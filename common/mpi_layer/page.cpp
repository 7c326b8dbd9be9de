#include "mpi_layer/page.hpp"

#include <algorithm>
#include <cstring>
#include <string>

namespace course::mpi_layer {

void write_pending(RankStatus& page, const std::vector<PendingOperation>& pending, bool more, Phase phase) {
  write_page(page, [&](RankStatus& own) {
    const std::size_t kept = std::min<std::size_t>(pending.size(), max_pending);
    std::copy_n(pending.begin(), kept, own.pending);
    own.pending_count = more ? max_pending + 1 : static_cast<std::int32_t>(pending.size());
    own.phase = static_cast<std::uint32_t>(phase);
  });
}

void append_fact(RankStatus& page, const Fact& fact) {
  std::string line = fact.kind + "\t" + fact.text;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  const std::size_t used = strnlen(page.facts, sizeof page.facts);
  if (used + line.size() < sizeof page.facts) std::memcpy(page.facts + used, line.c_str(), line.size() + 1);
}

}  // namespace course::mpi_layer
