#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "judge/checks/communication_checks.hpp"
#include "ring/shards.hpp"

namespace course::checks {

namespace {

constexpr const char* empty_blocks_too = "leave an empty block out on both sides or on neither";

/// Whether a message may be a shard, or what is made of one, in a room for the largest or for all of them. Of
/// equal shards each fills its room.
bool is_in_a_padded_room(const Example& example, const Fact& message) {
  const std::vector<int> shards = example.layout.shard_tokens();
  const auto [least, most] = std::ranges::minmax(shards);
  return least < most && std::ranges::any_of(shards, [&](std::int64_t shard) {
           return message.bytes * largest_shard(shards) == message.room * shard ||
                  message.bytes * total_tokens(shards) == message.room * shard;
         });
}

/// Whether a message of another block - of its keys, its values or both, or of a head of these - met a
/// receive of as many tokens as this rank has.
bool has_length_of_own(const Example& example, int rank, const Fact& truncated) {
  const std::vector<int> shards = example.layout.shard_tokens();
  const std::int64_t own = shards[rank], both = bytes_of_block(example, 1);
  const std::int64_t heads = std::max<Index>(example.inputs.at("k").extent(0), 1);
  return std::ranges::any_of(shards, [&](std::int64_t other) {
    return other > own && std::ranges::any_of(std::array{both, both / 2, both / heads, both / 2 / heads},
                                              [&](std::int64_t token) {
                                                return truncated.bytes == other * token &&
                                                       truncated.room == own * token;
                                              });
  });
}

/// Whether every message that was too long met a receive of the length of the rank's own block, and one of
/// them no other's: the length of any other block would be another mistake.
bool rooms_have_length_of_own(const Example& example, const Outcome& outcome) {
  const std::vector<int> shards = example.layout.shard_tokens();
  bool of_no_other = false;
  for (std::size_t rank = 0; rank < outcome.facts.size(); ++rank) {
    const Fact* const truncated = first_of_kind(outcome.facts[rank], fact_truncated);
    if (truncated == nullptr) continue;
    if (!has_length_of_own(example, static_cast<int>(rank), *truncated)) return false;
    of_no_other |= std::ranges::count(shards, shards[rank]) == 1;
  }
  return of_no_other;
}

}  // namespace

CommunicationCheck has_room_for_every_block(std::string mistake) {
  return [=](const Example& example, const Outcome& outcome) -> std::vector<Finding> {
    for (const Facts& facts : outcome.facts) {
      // Whose messages are too long sends too much, and who uses another communicator receives what was meant
      // for others: the rooms may be as they should.
      for (const char* const kind : {fact_beyond_tensor, fact_beyond_block, fact_world})
        if (first_of_kind(facts, kind) != nullptr) return {};
    }
    for (std::size_t rank = 0; rank < outcome.facts.size(); ++rank) {
      const Fact* const short_room = first_of_kind(outcome.facts[rank], fact_short_room);
      if (short_room == nullptr) continue;
      const bool is_told = outcome.told && *outcome.told == *short_room;
      return {finding_of(*short_room, mistake, is_told ? "" : short_room->text)};
    }
    if (rooms_have_length_of_own(example, outcome)) return {{mistake, ""}};
    return {};
  };
}

std::string missing_factor(const Example& example, std::int64_t factor) {
  const Tensor& k = example.inputs.at("k");
  std::vector<std::string> sizes;
  if (factor == k.extent(2)) sizes.push_back("head_dim");
  if (factor == k.extent(0)) sizes.push_back("the number of heads");
  if (factor == static_cast<std::int64_t>(sizeof(float))) sizes.push_back("the bytes of a float");
  if (sizes.empty() || factor < 2) return "";
  return fmt::format("does a count lack {}, {} here?", fmt::join(sizes, " or "), factor);
}

std::vector<Finding> tells_shard_lengths(const Example& example, const Outcome& outcome) {
  const auto found = std::ranges::find_if(
      outcome.facts, [](const Facts& facts) { return first_of_kind(facts, fact_truncated) != nullptr; });
  const std::vector<int> shards = example.layout.shard_tokens();
  if (found == outcome.facts.end() || example.ranks() < 2) return {};
  std::vector<Finding> all{
      {"", fmt::format("the ranks' shards here have {} tokens; a token is {} bytes of k and as many of v",
                       fmt::join(shards, ", "), bytes_of_block(example, 1) / 2)}};
  const auto [least, most] = std::ranges::minmax(shards);
  const Fact& truncated = *first_of_kind(*found, fact_truncated);
  const std::int64_t arrived = truncated.bytes, room = truncated.room;
  const std::string factor = room > 0 && arrived % room == 0 ? missing_factor(example, arrived / room) : "";
  if (least == most && !factor.empty())
    all.push_back({"", fmt::format("the room for it is {} times too short: {}", arrived / room, factor)});
  if (least == 0 && !rooms_have_length_of_own(example, outcome))
    all.push_back({"", fmt::format("one of them has none: {}", empty_blocks_too)});
  return all;
}

std::string shorter_message(const Example& example, const Outcome& outcome) {
  if (example.ranks() < 2) return "";
  for (std::size_t rank = 0; rank < outcome.facts.size(); ++rank) {
    for (const Fact& fact : outcome.facts[rank]) {
      if (fact.kind != fact_short_message || is_in_a_padded_room(example, fact)) continue;
      return fmt::format("rank {}: {} got {} bytes; the rest of its room stayed as it was", rank, fact.text,
                         fact.bytes);
    }
  }
  return "";
}

std::vector<Finding> tells_empty_message(const Example& example, const Outcome& outcome) {
  if (!outcome.deadlock || outcome.deadlock->empty_senders.empty()) return {};
  const int rank = outcome.deadlock->empty_senders.front();
  if (largest_shard(example.layout.shard_tokens()) == 0 || example.ranks() < 2) return {};
  return {{"", fmt::format("rank {} sends an empty block (0 bytes) that rank {} does not receive: {}", rank,
                           example.ahead(rank), empty_blocks_too)}};
}

}  // namespace course::checks
