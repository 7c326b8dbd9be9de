#include "mpi_layer/page.hpp"

#include <algorithm>

namespace course::mpi_layer {

void write_pending(RankStatus& page, const std::vector<PendingOperation>& pending, bool more, Phase phase) {
  write_page(page, [&](RankStatus& own) {
    const std::size_t kept = std::min<std::size_t>(pending.size(), max_pending);
    std::copy_n(pending.begin(), kept, own.pending);
    own.pending_count = more ? max_pending + 1 : static_cast<std::int32_t>(pending.size());
    own.phase = static_cast<std::uint32_t>(phase);
  });
}

}  // namespace course::mpi_layer
