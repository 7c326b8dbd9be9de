#pragma once

#include <vector>

#include "mpi_layer/mpi_layer.hpp"
#include "protocol/status_page.hpp"

namespace course::mpi_layer {

/// Lets `change` write the guarded fields of the page, as one step for those who read it.
template <class Change>
void write_page(RankStatus& page, const Change& change) {
  const std::uint64_t before = page.sequence.load(std::memory_order_relaxed);
  page.sequence.store(before + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  change(page);
  page.sequence.store(before + 2, std::memory_order_release);
}

/// Writes the phase and what is pending. `more` says that there is more than the list knows of.
void write_pending(RankStatus& page, const std::vector<PendingOperation>& pending, bool more, Phase phase);

/// Adds a line to the page's facts where it still has room. Inside write_page.
void append_fact(RankStatus& page, const Fact& fact);

}  // namespace course::mpi_layer
