#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "mpi_layer/mpi_layer.hpp"
#include "mpi_layer/operation.hpp"

namespace course::mpi_layer {

/// So many facts of one kind are told of a case.
inline constexpr std::ptrdiff_t facts_of_a_kind = 8;

/// So many entries of a rank's traffic are told apart by their communicators.
inline constexpr std::size_t traffic_told_apart = 512;

/// What is told of a case: the page that the judge reads while it is played, and the report in the end.
/// Threads may write it at once.
class Journal {
 public:
  /// `watched` is emptied of the case before; null when nobody looks.
  explicit Journal(RankStatus* watched);

  /// Adds a fact, to the page too where that still has room, unless it is known or enough of its kind are.
  void note(const Fact& fact);
  /// The same in the report alone, of what is no news to anybody who looks at the page.
  void note_in_report(const Fact& fact);
  /// " (after 2 receives)", of what happens now.
  std::string now();
  /// The same as note() of what happens now.
  void note_now(Fact fact);
  /// Notes the fact, and throws the exception that tells it.
  template <class Exception>
  [[noreturn]] void note_and_throw(const Fact& fact) {
    note(fact);
    throw FactException<Exception>(fact);
  }

  void count_sent(const Operation& operation);
  /// `sent` are the bytes for each rank of its communicator, which its own place does not count.
  void count_collective(const Operation& operation, const std::vector<std::int64_t>& sent);
  void add_span(Span span);
  /// Steps beyond those that are told are left out.
  void add_step(const RankStep& step);

  /// Shows the phase, what is pending, and communicators. `more` says that there is more than the list knows
  /// of.
  void show(Phase phase, const std::vector<PendingOperation>& pending,
            const ShownCommunicators& communicators, bool more);
  /// The same, in the phase as it is.
  void show(const std::vector<PendingOperation>& pending, const ShownCommunicators& communicators, bool more);
  /// Lets `change` enter a completion. In the same step a rank that waits becomes one that computes, until
  /// what it waits for is shown anew: a page never says that a rank waits for what is over.
  void enter_completion(const std::function<void(RankStatus&)>& change);
  /// Grows with every completion: what is shown as pending is out of date.
  std::uint64_t completions() const { return completions_; }

  /// The report, when nothing is added any more.
  Report take();

 private:
  bool add(const Fact& fact);
  void add_sent(const Operation& operation, int to, std::int64_t bytes);
  void write_page(const std::function<void(RankStatus&)>& change);

  std::mutex mutex_;
  RankStatus unwatched_{};
  RankStatus* page_;
  std::atomic<std::uint64_t> completions_ = 0;
  std::array<RankStep, steps_told> steps_;  ///< in memory of its own: what a case allocates is counted
  std::size_t step_count_ = 0;
  Report report_;
};

}  // namespace course::mpi_layer
