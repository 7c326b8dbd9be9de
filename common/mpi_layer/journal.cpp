#include "mpi_layer/journal.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace course::mpi_layer {

Journal::Journal(RankStatus* watched) : page_(watched != nullptr ? watched : &unwatched_) {
  write_page([](RankStatus& own) {
    own.receives = 0;
    own.pending_count = 0;
    own.collectives = 0;
    own.communicator_count = 0;
    std::memset(own.sent_sum, 0, sizeof own.sent_sum);
    std::memset(own.received_sum, 0, sizeof own.received_sum);
    std::memset(own.facts, 0, sizeof own.facts);
  });
}

/// As one step for those who read the page.
void Journal::write_page(const std::function<void(RankStatus&)>& change) {
  const std::uint64_t before = page_->sequence.load(std::memory_order_relaxed);
  page_->sequence.store(before + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  change(*page_);
  page_->sequence.store(before + 2, std::memory_order_release);
}

/// Returns whether it is new and there is room for it.
bool Journal::add(const Fact& fact) {
  Facts& facts = report_.facts;
  if (std::ranges::count(facts, fact) > 0) return false;
  if (std::ranges::count(facts, fact.kind, &Fact::kind) == facts_of_a_kind) return false;
  facts.push_back(fact);
  return true;
}

void Journal::note_in_report(const Fact& fact) {
  const std::lock_guard guard(mutex_);
  add(fact);
}

void Journal::note(const Fact& fact) {
  const std::lock_guard guard(mutex_);
  if (!add(fact)) return;
  write_page([&](RankStatus& own) { append_fact(own, fact); });
}

std::string Journal::now() {
  const std::lock_guard guard(mutex_);
  return " (" + after_receives(page_->receives) + ")";
}

void Journal::note_now(Fact fact) {
  fact.text += now();
  note(fact);
}

void Journal::count_sent(const Operation& operation) {
  const int peer = operation.case_peer();
  if (operation.kind != Kind::Send || peer < 0) return;
  add_step({RankStep::Kind::Sends, peer, operation.bytes});
  const std::lock_guard guard(mutex_);
  add_sent(operation, peer, operation.bytes);
}

/// The mutex is locked.
void Journal::add_sent(const Operation& operation, int to, std::int64_t bytes) {
  Traffic& traffic = report_.traffic;
  const auto entry = [&](int communicator) {
    return std::ranges::find_if(traffic, [&](const Sent& sent) {
      return sent.communicator == communicator && sent.to == to && sent.call == operation.call;
    });
  };
  const Communicator& on = *operation.communicator;
  auto found = entry(on.number);
  if (found == traffic.end()) {
    const int number = traffic.size() < traffic_told_apart ? on.number : 0;
    found = entry(number);
    if (found == traffic.end())
      found = traffic.insert(found,
                             {number, number > 0 ? on.case_ranks : std::vector<int>{}, operation.call, to});
  }
  found->bytes += bytes;
}

void Journal::count_collective(const Operation& operation, const std::vector<std::int64_t>& sent) {
  const int root = operation.case_peer();
  note({.kind = fact_collective,
        .text = operation.call + (root < 0 ? "" : " with root " + std::to_string(root)) +
                ", in which this rank received " + std::to_string(operation.bytes) + " bytes",
        .call = operation.call,
        .root = std::max(root, -1),
        .bytes = operation.bytes});
  const std::lock_guard guard(mutex_);
  report_.collective_bytes += operation.bytes;
  const std::vector<int>& members = operation.communicator->case_ranks;
  for (std::size_t to = 0; to < sent.size(); ++to) {
    if (sent[to] > 0 && members[to] >= 0) add_sent(operation, members[to], sent[to]);
  }
}

void Journal::add_span(Span span) {
  const std::lock_guard guard(mutex_);
  report_.spans.push_back(std::move(span));
}

void Journal::add_step(const RankStep& step) {
  const std::lock_guard guard(mutex_);
  if (step_count_ < steps_.size()) steps_[step_count_++] = step;
}

Report Journal::take() {
  report_.steps.assign(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(step_count_));
  return std::move(report_);
}

void Journal::show(Phase phase, const std::vector<PendingOperation>& pending,
                   const ShownCommunicators& communicators, bool more) {
  const std::lock_guard guard(mutex_);
  write_page([&](RankStatus& own) {
    std::copy_n(pending.begin(), std::min<std::size_t>(pending.size(), max_pending), own.pending);
    own.pending_count = more ? max_pending + 1 : static_cast<std::int32_t>(pending.size());
    own.communicator_count = communicators.count;
    std::ranges::copy(communicators.told, own.communicators);
    own.phase = static_cast<std::uint32_t>(phase);
  });
}

void Journal::show(const std::vector<PendingOperation>& pending, const ShownCommunicators& communicators,
                   bool more) {
  show(static_cast<Phase>(page_->phase.load()), pending, communicators, more);
}

void Journal::enter_completion(const std::function<void(RankStatus&)>& change) {
  const std::lock_guard guard(mutex_);
  write_page([&](RankStatus& own) {
    if (own.phase == static_cast<std::uint32_t>(Phase::Blocked))
      own.phase = static_cast<std::uint32_t>(Phase::Computing);
    change(own);
  });
  ++completions_;
}

}  // namespace course::mpi_layer
