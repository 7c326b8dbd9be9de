#include "judge/checks/communication_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "judge/diagnosis/diagnose.hpp"
#include "judge/numbers/origin.hpp"
#include "ring/shards.hpp"

namespace course::checks {

namespace {

using Measure = std::int64_t (*)(const RankReport&);

/// One finding for the first rank that `does` more bytes than its limit.
CommunicationCheck at_most(Measure measure, const char* does, Limit limit, std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    for (std::size_t rank = 0; rank < outcome.reports.size(); ++rank) {
      const std::int64_t seen = measure(outcome.reports[rank]);
      const std::int64_t allowed = limit(example, static_cast<int>(rank));
      if (seen <= allowed) continue;
      const std::string who = rank_label(rank, outcome.reports.size());
      return {{mistake, fmt::format("{} {} {} bytes, at most {} are allowed", who, does, seen, allowed)}};
    }
    return {};
  };
}

/// What `look` finds, each finding changed.
template <class Change>
CommunicationCheck changed(CommunicationCheck look, Change change) {
  return
      [look = std::move(look), change = std::move(change)](const Example& example, const Outcome& outcome) {
        std::vector<Finding> findings = look(example, outcome);
        for (Finding& finding : findings) change(finding, example, outcome);
        return findings;
      };
}

/// A fact of a rank's.
Finding finding_on(const Outcome& outcome, std::size_t rank, const Fact& fact, std::string mistake) {
  const std::string who = outcome.facts.size() == 1 ? "" : fmt::format("rank {}: ", rank);
  return finding_of(fact, std::move(mistake), who + fact.text);
}

}  // namespace

const Fact* first_of_kind(const Facts& facts, const char* kind) {
  const auto found = std::ranges::find(facts, kind, &Fact::kind);
  return found == facts.end() ? nullptr : &*found;
}

Finding finding_of(const Fact& fact, std::string mistake, std::string text) {
  return {std::move(mistake), std::move(text), fact.kind, fact.at.line > 0};
}

Finding finding_of(const Fact& fact, std::string mistake) {
  return finding_of(fact, std::move(mistake), fact.text);
}

CommunicationCheck without_fact(const char* kind, std::string mistake) {
  return [=](const Example&, const Outcome& outcome) -> std::vector<Finding> {
    for (std::size_t rank = 0; rank < outcome.facts.size(); ++rank) {
      if (const Fact* const fact = first_of_kind(outcome.facts[rank], kind))
        return {finding_on(outcome, rank, *fact, mistake)};
    }
    return {};
  };
}

std::int64_t bytes_sent(const RankReport& report) {
  std::int64_t bytes = 0;
  for (const auto& [peer, sent] : messages_by_peer(report.traffic)) bytes += sent;
  return bytes;
}

std::int64_t bytes_of_block(const Example& example, int tokens) {
  const Tensor& k = example.inputs.at("k");
  return 2 * k.extent(0) * tokens * k.extent(2) * static_cast<std::int64_t>(sizeof(float));
}

int forward_hops(int ranks) {
  return ranks - 1;
}

int backward_hops(int ranks) {
  return ranks == 1 ? 0 : 2 * ranks - 1;
}

Recognises sent_one_hop_more(Hops hops, int fewest_ranks) {
  return [=](const Example& example, const Outcome& outcome) {
    if (example.ranks() < fewest_ranks) return false;
    const std::vector<int> shards = example.layout.shard_tokens();
    const int rounds = (hops(example.ranks()) + 1) / example.ranks();  // of all blocks
    const std::int64_t unpadded = bytes_of_block(example, rounds * total_tokens(shards));
    const std::int64_t padded = bytes_of_block(example, rounds * largest_shard(shards) * example.ranks());
    return std::ranges::all_of(outcome.reports, [&](const RankReport& report) {
      return bytes_sent(report) == unpadded || bytes_sent(report) == padded;
    });
  };
}

std::int64_t bytes_of_hops(Hops hops, const Example& example) {
  return bytes_of_block(example, largest_shard(example.layout.shard_tokens()) * hops(example.ranks()));
}

std::int64_t memory_of_blocks(const Example& example, int blocks) {
  const std::int64_t block = bytes_of_block(example, largest_shard(example.layout.shard_tokens()));
  return block < 256 * 1024 ? std::numeric_limits<std::int64_t>::max() : blocks * block;
}

CommunicationCheck named_if(CommunicationCheck look, Recognises recognises, std::string mistake) {
  return changed(std::move(look), [=](Finding& finding, const Example& example, const Outcome& outcome) {
    if (recognises(example, outcome)) finding.mistake = mistake;
  });
}

CommunicationCheck first_of(std::vector<CommunicationCheck> looks) {
  return [looks = std::move(looks)](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    for (const CommunicationCheck& look : looks) {
      std::vector<Finding> findings = look(example, outcome);
      if (!findings.empty()) return findings;
    }
    return {};
  };
}

CommunicationCheck all_of(std::vector<CommunicationCheck> looks) {
  return [looks = std::move(looks)](const Example& example, const Outcome& outcome) {
    std::vector<Finding> all;
    for (const CommunicationCheck& look : looks)
      std::ranges::move(look(example, outcome), std::back_inserter(all));
    return all;
  };
}

bool sent_only_to_previous(const Example& example, const Outcome& outcome) {
  for (int rank = 0; rank < example.ranks(); ++rank) {
    for (const auto& [peer, bytes] : messages_by_peer(outcome.reports[rank].traffic)) {
      if (bytes > 0 && peer != example.ahead(rank, -1)) return false;
    }
  }
  return true;
}

bool gathered(const Example&, const Outcome& outcome) {
  return std::ranges::any_of(outcome.facts[0], [](const Fact& fact) {
    // Any of them, such as MPI_Allgatherv.
    return fact.kind == fact_collective &&
           (fact.call.starts_with("MPI_Allgather") || fact.call.starts_with("MPI_Iallgather"));
  });
}

bool held_everything_unseen(const Example& example, const Outcome& outcome) {
  const auto held_everything = [&](const RankReport& report) {
    return report.peak_bytes >= bytes_of_block(example, example.layout.tokens());
  };
  return !traffic_was_measured(outcome) && std::ranges::any_of(outcome.reports, held_everything);
}

bool every_rank_sends(const Example&, const Deadlock& deadlock) {
  const auto has_received = [](int receives) { return receives > 0; };
  return deadlock.kind == Deadlock::Kind::Cycle && deadlock.all_send && deadlock.ranks.size() > 1 &&
         std::ranges::none_of(deadlock.receives, has_received);
}

bool every_rank_receives_from_next(const Example& example, const Deadlock& deadlock) {
  return deadlock.kind == Deadlock::Kind::Cycle && example.ranks() > 1 &&
         deadlock.one_peer_ahead == example.ahead(0);
}

bool waits_for_itself_alone(const Example& example, const Deadlock& deadlock) {
  return example.ranks() == 1 && deadlock.kind == Deadlock::Kind::Cycle;
}

std::int64_t control_bytes(const Example& example, int) {
  return 64 * example.ranks();
}

CommunicationCheck sends_nothing_to_itself(std::string mistake) {
  const auto is_alone = [](const Example& example, const Outcome&) { return example.ranks() == 1; };
  return named_if(without_fact(fact_self_message, ""), is_alone, std::move(mistake));
}

CommunicationCheck reads_only_what_has_arrived(std::string mistake) {
  const auto is_read_early = [](float entry) {
    return origin_of(entry_of(entry)) == Origin::FromOpenReceive;
  };
  return [=](const Example&, const Outcome& outcome) -> std::vector<Finding> {
    for (const auto& outputs : outcome.outputs) {
      for (const auto& [name, output] : outputs) {
        if (std::ranges::any_of(output.values(), is_read_early)) return {{mistake, ""}};
      }
    }
    return {};
  };
}

bool traffic_was_measured(const Outcome& outcome) {
  return std::all_of(outcome.reports.begin(), outcome.reports.end(),
                     [](const RankReport& report) { return report.collective_bytes >= 0; });
}

namespace {

CommunicationCheck unless_thrown(CommunicationCheck look) {
  return [look = std::move(look)](const Example& example, const Outcome& outcome) {
    return outcome.ending == Outcome::Ending::Threw ? std::vector<Finding>{} : look(example, outcome);
  };
}

}  // namespace

CommunicationCheck completes_its_requests(std::string mistake) {
  return unless_thrown(without_fact(fact_unfinished_request, std::move(mistake)));
}

CommunicationCheck frees_what_it_makes(std::string mistake) {
  return unless_thrown(without_fact(fact_not_freed, std::move(mistake)));
}

std::vector<Finding> tells_null_peers(const Example& example, const Outcome& outcome) {
  if (outcome.ending == Outcome::Ending::Finished) return {};
  return first_of({without_fact(fact_null_source, ""), without_fact(fact_null_destination, "")})(example,
                                                                                                 outcome);
}

AnswerCheck joins_its_ends(std::string mistake) {
  return [mistake = std::move(mistake)](const Played& played) {
    const Outcome& outcome = *played.outcome;
    for (const char* kind : {fact_null_source, fact_null_destination}) {
      const auto ends = std::ranges::count_if(
          outcome.facts, [&](const Facts& facts) { return first_of_kind(facts, kind) != nullptr; });
      if (ends == 0 || is_right(played)) continue;
      return without_fact(kind, ends < std::ssize(outcome.facts) ? mistake : "")(*played.example, outcome);
    }
    return std::vector<Finding>{};
  };
}

CommunicationCheck uses_no_ended_request(std::string mistake) {
  const auto without_what_is_told = [](Finding& finding, const Example&, const Outcome& outcome) {
    if (outcome.told && outcome.told->kind == fact_ended_request) finding.text = "";
  };
  return changed(without_fact(fact_ended_request, std::move(mistake)), without_what_is_told);
}

CommunicationCheck stays_in_its_memory() {
  return [](const Example&, const Outcome& outcome) -> std::vector<Finding> {
    for (const char* const kind : {fact_beyond_tensor, fact_beyond_block}) {
      for (std::size_t rank = 0; rank < outcome.facts.size(); ++rank) {
        if (const Fact* const fact = first_of_kind(outcome.facts[rank], kind))
          return {finding_on(outcome, rank, *fact, fact->has(mark_four_times) ? "count_in_bytes" : "")};
      }
    }
    return {};
  };
}

CommunicationCheck uses_only_known_calls() {
  const CommunicationCheck look =
      first_of({without_fact(fact_lifecycle, ""), without_fact(fact_uncommon_call, "")});
  return [look](const Example& example, const Outcome& outcome) {
    std::vector<Finding> findings = look(example, outcome);
    // Of a call that was refused the exception has told it.
    const bool is_refused = outcome.told && outcome.told->kind == fact_uncommon_call;
    return is_refused ? std::vector<Finding>{} : findings;
  };
}

CommunicationCheck waits_for_its_receives(std::string rule) {
  return changed(without_fact(fact_buffered_send, ""),
                 [rule = std::move(rule)](Finding& finding, const Example&, const Outcome&) {
                   finding.text += "; " + rule;
                 });
}

CommunicationCheck moves_messages_at_most(std::int64_t message, Messages fewest, Messages most,
                                          Messages gathered) {
  const auto bytes = [=](const RankReport& report) {
    return std::max<std::int64_t>(report.collective_bytes, 0);
  };
  // Four times a number of messages that a right answer moves.
  const auto in_bytes = [=](std::int64_t moved, int must) {
    const std::int64_t four = static_cast<std::int64_t>(sizeof(float)) * message;
    return moved % four == 0 && moved / four >= must;
  };
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    const std::int64_t may_send = most(example.ranks()) * message;
    const std::int64_t may_gather = gathered(example.ranks()) * message;
    std::int64_t all_sent = 0, most_gathered = 0;
    for (const RankReport& report : outcome.reports) {
      all_sent += bytes_sent(report);
      most_gathered = std::max(most_gathered, bytes(report));
    }
    if (all_sent > may_send) {
      return {{in_bytes(all_sent, fewest(example.ranks())) ? "count_in_bytes" : "",
               fmt::format("{} bytes were sent in all, at most {} messages of {} bytes are needed", all_sent,
                           most(example.ranks()), message)}};
    }
    if (most_gathered <= may_gather) return {};
    return {{in_bytes(most_gathered, gathered(example.ranks()) / 2) ? "count_in_bytes" : "",
             fmt::format("collectives brought a rank {} bytes, at most {} messages of {} bytes are needed",
                         most_gathered, gathered(example.ranks()), message)}};
  };
}

CommunicationCheck sends_at_most(Limit limit, std::string mistake) {
  return at_most(bytes_sent, "sent", std::move(limit), std::move(mistake));
}

CommunicationCheck gathers_at_most(Limit limit, std::string mistake) {
  const auto received = [](const RankReport& report) { return report.collective_bytes; };
  return at_most(received, "received through collectives", std::move(limit), std::move(mistake));
}

CommunicationCheck passes_tensors_by_messages(std::string mistake) {
  return changed(named_if(gathers_at_most(control_bytes, ""), gathered, std::move(mistake)),
                 [](Finding& finding, const Example&, const Outcome&) {
                   if (finding.mistake.empty())
                     finding.text += ": a ring's tensors do not travel by collectives";
                 });
}

CommunicationCheck sends_only_to_next(std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    if (example.ranks() < 3) return {};
    for (std::size_t rank = 0; rank < outcome.reports.size(); ++rank) {
      const int next = example.ahead(static_cast<int>(rank));
      const std::map<int, std::int64_t> sent = messages_by_peer(outcome.reports[rank].traffic);
      for (const auto& [peer, bytes] : sent) {
        if (peer == next || bytes == 0) continue;
        const auto rest = sent.find(next);
        const bool some = rest != sent.end() && rest->second > 0;
        return {
            {mistake,
             fmt::format("rank {} sent {} bytes to rank {}{}; it should send to rank {} only", rank, bytes,
                         peer, some ? fmt::format(" and {} to rank {}", rest->second, next) : "", next)}};
      }
    }
    return {};
  };
}

CommunicationCheck uses_memory_at_most(std::function<std::int64_t(const Example&)> limit,
                                       std::string mistake) {
  const auto peak = [](const RankReport& report) { return report.peak_bytes; };
  const auto of_any_rank = [limit = std::move(limit)](const Example& example, int) { return limit(example); };
  return at_most(peak, "held at its peak", of_any_rank, std::move(mistake));
}

CommunicationCheck deadlocks(std::function<bool(const Example&, const Deadlock&)> recognises,
                             std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    if (!outcome.deadlock || !recognises(example, *outcome.deadlock)) return {};
    return {{mistake, ""}};
  };
}

CommunicationCheck keeps_empty_ranks(std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    if (!outcome.deadlock || outcome.deadlock->kind != Deadlock::Kind::WaitsForFinished) return {};
    const std::vector<int> shards = example.layout.shard_tokens();
    const std::vector<int>&waiting = outcome.deadlock->ranks, &left = outcome.deadlock->left_at_once;
    for (int rank = 0; rank < example.ranks(); ++rank) {
      if (std::ranges::count(waiting, rank) == 0 && shards[rank] > 0) return {};
    }
    if (left.empty()) return {};
    return {{mistake, fmt::format("rank {}, which owns no tokens, returned while others' blocks have to pass "
                                  "through it",
                                  left.front())}};
  };
}

std::vector<CommunicationCheck> blocking_ring(CommunicationCheck first,
                                              std::function<std::int64_t(const Example&)> memory) {
  return {std::move(first),
          uses_only_known_calls(),
          frees_what_it_makes("communicator_not_freed"),
          tells_null_peers,
          stays_in_its_memory(),
          has_room_for_every_block("room_too_short"),
          tells_shard_lengths,
          tells_empty_message,
          first_of({completes_its_requests("leaked_request"),
                    without_fact(fact_shared_room, "one_room_for_k_and_v"),
                    without_fact(fact_overlapping_buffers, "receives_over_the_send_buffer"),
                    without_fact(fact_send_buffer_changed, "send_buffer_reused"),
                    without_fact(fact_receive_buffer_changed, "computes_on_arriving"),
                    reads_only_what_has_arrived("computes_on_arriving")}),
          passes_tensors_by_messages("everything_gathered"),
          named_if(uses_memory_at_most(std::move(memory), ""), held_everything_unseen, "everything_gathered"),
          deadlocks(every_rank_sends, "every_rank_sends_first"),
          deadlocks(every_rank_receives_from_next, "receives_from_next")};
}

}  // namespace course::checks
