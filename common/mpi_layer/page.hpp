#pragma once

#include <atomic>
#include <functional>
#include <mutex>
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

/// What the judge sees of this rank while it plays a case. Threads may write it at once.
class StatusPage {
 public:
  /// `watched` is emptied of the case before; null when nobody looks.
  explicit StatusPage(RankStatus* watched);

  /// Shows the phase and what is pending. `more` says that there is more than the list knows of.
  void show(Phase phase, const std::vector<PendingOperation>& pending, bool more);
  /// The same, in the phase as it is.
  void show(const std::vector<PendingOperation>& pending, bool more);
  /// Adds a line to the page's facts where it still has room.
  void add(const Fact& fact);
  /// Lets `change` enter a completion. In the same step a rank that waits becomes one that computes, until
  /// what it waits for is shown anew: a page never says that a rank waits for what is over.
  void enter_completion(const std::function<void(RankStatus&)>& change);

  /// " (after 2 completed receives)", as far as the rank has come.
  std::string so_far();
  /// Grows with every completion: what is shown as pending is out of date.
  std::uint64_t completions() const { return completions_; }

 private:
  std::mutex mutex_;
  RankStatus unwatched_{};
  RankStatus* page_;
  std::atomic<std::uint64_t> completions_ = 0;
};

}  // namespace course::mpi_layer
