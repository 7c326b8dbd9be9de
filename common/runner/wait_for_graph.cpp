#include "runner/wait_for_graph.hpp"

#include <algorithm>
#include <iterator>

namespace course {

namespace {

using Operation = PendingOperation;

/// Whether the send of `sender` and the receive of `receiver` name each other.
bool name_each_other(int sender, const Operation& send, int receiver, const Operation& receive) {
  return send.kind == Operation::Kind::Send && receive.kind == Operation::Kind::Receive &&
         send.peer == receiver && (receive.peer == sender || receive.peer == any_peer);
}

bool match(int sender, const Operation& send, int receiver, const Operation& receive) {
  return name_each_other(sender, send, receiver, receive) && send.communicator == receive.communicator &&
         (receive.tag == any_tag || receive.tag == send.tag);
}

bool could_meet(int a, const Operation& x, int b, const Operation& y) {
  return y.communicator == unknown_communicator || match(a, x, b, y) || match(b, y, a, x);
}

/// How many collectives a rank has started on a communicator; none where its page does not tell. On one that
/// it has never known it has started none.
std::optional<std::int32_t> started(const RankSnapshot& rank, std::uint64_t communicator) {
  const auto known = std::ranges::find(rank.communicators, communicator, &SeenCommunicator::id);
  if (known != rank.communicators.end()) return known->started;
  return rank.communicators_complete ? std::optional(0) : std::nullopt;
}

bool is_waited_for(const Operation& operation) {
  return operation.need != Operation::Need::None;
}

}  // namespace

bool waits(const RankSnapshot& rank) {
  return rank.phase == Phase::Blocked || rank.phase == Phase::Polling;
}

bool is_gone(const RankSnapshot& rank) {
  return rank.phase == Phase::Finished || rank.phase == Phase::Threw || rank.phase == Phase::Crashed ||
         rank.phase == Phase::Done;
}

std::vector<Wait> WaitForGraph::unmet(int rank) const {
  std::vector<Wait> all;
  if (!waits(ranks_[rank])) return all;
  for (const Operation& operation : ranks_[rank].pending) {
    if (!is_waited_for(operation) || operation.kind == Operation::Kind::Collective) continue;
    const bool met = is_met(rank, operation);
    if (met && operation.need == Operation::Need::Any) return {};
    if (!met) all.push_back({rank, &operation});
  }
  return all;
}

const Operation* WaitForGraph::collective(int rank) const {
  if (!waits(ranks_[rank])) return nullptr;
  for (const Operation& operation : ranks_[rank].pending) {
    if (is_waited_for(operation) && operation.kind == Operation::Kind::Collective) return &operation;
  }
  return nullptr;
}

const SeenCommunicator* WaitForGraph::communicator(const Wait& wait) const {
  const std::vector<SeenCommunicator>& all = ranks_[wait.rank].communicators;
  const auto found = std::ranges::find(all, wait.operation->communicator, &SeenCommunicator::id);
  return found == all.end() ? nullptr : &*found;
}

std::vector<int> WaitForGraph::absent(const Wait& collective) const {
  const SeenCommunicator* const on = communicator(collective);
  std::vector<int> absent;
  for (const int member : on == nullptr ? std::vector<int>{} : on->members) {
    if (member < 0 || member >= std::ssize(ranks_)) continue;
    const std::optional<std::int32_t> begun = started(ranks_[member], on->id);
    if (begun && *begun < collective.operation->tag) absent.push_back(member);
  }
  return absent;
}

std::vector<int> WaitForGraph::peers(const Wait& wait) const {
  const int size = static_cast<int>(ranks_.size());
  const int peer = wait.operation->peer;
  if (peer >= 0 && peer < size) return {peer};
  std::vector<int> others;
  for (int rank = 0; rank < size && peer == any_peer; ++rank) {
    if (rank != wait.rank) others.push_back(rank);
  }
  return others;
}

std::vector<Wait> WaitForGraph::cycle() const {
  std::vector<char> seen(ranks_.size(), 0);
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    std::vector<Wait> path;
    if (seen[rank] != 0 || !extend_cycle(static_cast<int>(rank), seen, path)) continue;
    std::rotate(path.begin(), std::ranges::min_element(path, {}, &Wait::rank), path.end());
    return path;
  }
  return {};
}

std::optional<NearMiss> WaitForGraph::near_miss() const {
  std::vector<Wait> all;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank)
    std::ranges::copy(unmet(static_cast<int>(rank)), std::back_inserter(all));
  for (const Wait& send : all) {
    for (const Wait& receive : all) {
      if (name_each_other(send.rank, *send.operation, receive.rank, *receive.operation))
        return NearMiss{send, receive};
    }
  }
  return std::nullopt;
}

std::optional<NearMiss> WaitForGraph::misdirected() const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (const Wait& send : unmet(static_cast<int>(rank))) {
      const std::vector<int> to = peers(send);
      if (send.operation->kind != Operation::Kind::Send || to.size() != 1) continue;
      for (const Wait& receive : unmet(to.front())) {
        if (receive.operation->kind == Operation::Kind::Receive && receive.operation->peer >= 0 &&
            receive.operation->peer != send.rank)
          return NearMiss{send, receive};
      }
    }
  }
  return std::nullopt;
}

bool WaitForGraph::receives(int rank) const {
  return std::ranges::count(ranks_[rank].pending, Operation::Kind::Receive, &Operation::kind) > 0;
}

int WaitForGraph::one_peer_ahead(const std::vector<Wait>& cycle) const {
  const int size = static_cast<int>(ranks_.size());
  std::optional<int> ahead;
  bool sends = false, receives = false;
  for (const Wait& wait : cycle) {
    for (const Operation& operation : ranks_[wait.rank].pending) {
      if (operation.kind == Operation::Kind::Collective || is_met(wait.rank, operation)) continue;
      if (operation.peer < 0 || operation.peer >= size) return 0;
      const int own = (operation.peer - wait.rank + size) % size;
      if (ahead.value_or(own) != own) return 0;
      ahead = own;
      (operation.kind == Operation::Kind::Send ? sends : receives) = true;
    }
  }
  return sends && receives ? *ahead : 0;
}

bool WaitForGraph::is_final() const {
  const int size = static_cast<int>(ranks_.size());
  if (size > max_summed_ranks) return false;
  for (int rank = 0; rank < size; ++rank) {
    if (ranks_[rank].phase == Phase::Polling || !ranks_[rank].pending_complete) return false;
    for (const Operation& operation : ranks_[rank].pending) {
      if (is_met(rank, operation)) return false;
    }
    for (int other = rank; other < size; ++other) {
      if (!sums_agree(rank, other)) return false;
    }
  }
  return collectives_are_final();
}

bool WaitForGraph::is_final(const std::vector<Wait>& cycle) const {
  if (ranks_.size() > max_summed_ranks) return false;
  return !cycle.empty() && std::all_of(cycle.begin(), cycle.end(), [&](const Wait& wait) {
    const RankSnapshot& own = ranks_[wait.rank];
    return own.phase == Phase::Blocked && own.pending_complete &&
           wait.operation->need == Operation::Need::All && wait.operation->peer >= 0 &&
           sums_agree(wait.rank, wait.operation->peer);
  });
}

bool WaitForGraph::is_met(int rank, const Operation& operation) const {
  if (operation.communicator == unknown_communicator) return true;
  for (std::size_t other = 0; other < ranks_.size(); ++other) {
    for (const Operation& candidate : ranks_[other].pending) {
      if (could_meet(rank, operation, static_cast<int>(other), candidate)) return true;
    }
  }
  return false;
}

bool WaitForGraph::extend_cycle(int rank, std::vector<char>& seen, std::vector<Wait>& path) const {
  seen[rank] = 1;
  for (const Wait& wait : unmet(rank)) {
    path.push_back(wait);
    for (const int peer : peers(wait)) {
      const auto entry = std::ranges::find(path, peer, &Wait::rank);
      if (entry != path.end()) {
        path.erase(path.begin(), entry);
        return true;
      }
      if (seen[peer] == 0 && extend_cycle(peer, seen, path)) return true;
    }
    path.pop_back();
  }
  return false;
}

bool WaitForGraph::sums_agree(int a, int b) const {
  return ranks_[a].sent_sum[b] == ranks_[b].received_sum[a] &&
         ranks_[b].sent_sum[a] == ranks_[a].received_sum[b];
}

bool WaitForGraph::collectives_are_final() const {
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    for (const Operation& operation : ranks_[rank].pending) {
      if (operation.kind == Operation::Kind::Collective &&
          !is_final_collective({static_cast<int>(rank), &operation}))
        return false;
    }
  }
  return true;
}

/// What is awaited is told of the last collective that was started on the communicator.
bool WaitForGraph::is_final_collective(const Wait& collective) const {
  const SeenCommunicator* const on = communicator(collective);
  if (on == nullptr || on->started != collective.operation->tag) return false;
  return std::ranges::any_of(absent(collective), [&](int member) {
    return member < max_summed_ranks && (on->awaited >> member & 1) != 0;
  });
}

}  // namespace course
