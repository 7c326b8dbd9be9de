#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "judge/checks/communication_checks.hpp"
#include "ring/shards.hpp"

namespace course::checks {

namespace {

constexpr const char* empty_blocks_too = "leave an empty block out on both sides or on neither";

/// A message that was longer or shorter than the room for it, in bytes.
struct Message {
  std::int64_t arrived = 0, room = 0;
};

/// Of a fact's text: "252 bytes for 108".
Message message_of(const std::string& text) {
  std::istringstream words(text);
  Message message;
  std::string between;
  words >> message.arrived >> between >> between >> message.room;
  return message;
}

std::optional<Message> truncated_message(const Facts& facts) {
  const std::optional<std::string> text = first_text(facts, fact_truncated);
  return text ? std::optional(message_of(*text)) : std::nullopt;
}

/// Whether it may be a shard, or what is made of one, in a room for the largest or for all of them.
bool is_in_a_padded_room(const Example& example, const Message& message) {
  const std::vector<int> shards = example.layout.shard_tokens();
  return std::ranges::any_of(shards, [&](std::int64_t shard) {
    return message.arrived * largest_shard(shards) == message.room * shard ||
           message.arrived * total_tokens(shards) == message.room * shard;
  });
}

/// Whether a message of another block - of its keys, its values or both, or of a head of these - met a
/// receive of as many tokens as this rank has.
bool has_length_of_own(const Example& example, int rank, const Message& message) {
  const std::vector<int> shards = example.layout.shard_tokens();
  const std::int64_t own = shards[rank], both = bytes_of_block(example, 1);
  const std::int64_t heads = std::max<Index>(example.inputs.at("k").extent(0), 1);
  return std::ranges::any_of(shards, [&](std::int64_t other) {
    return other > own && std::ranges::any_of(std::array{both, both / 2, both / heads, both / 2 / heads},
                                              [&](std::int64_t token) {
                                                return message.arrived == other * token &&
                                                       message.room == own * token;
                                              });
  });
}

/// Whether every message that was too long met a receive of the length of the rank's own block, and one of
/// them no other's: the length of any other block would be another mistake.
bool rooms_have_length_of_own(const Example& example, const Outcome& outcome) {
  const std::vector<int> shards = example.layout.shard_tokens();
  bool of_no_other = false;
  for (std::size_t rank = 0; rank < outcome.facts.size(); ++rank) {
    const std::optional<Message> message = truncated_message(outcome.facts[rank]);
    if (!message) continue;
    if (!has_length_of_own(example, static_cast<int>(rank), *message)) return false;
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
      if (first_text(facts, fact_beyond_tensor) || first_text(facts, fact_beyond_block) ||
          first_text(facts, fact_world))
        return {};
    }
    for (std::size_t rank = 0; rank < outcome.facts.size(); ++rank) {
      const std::optional<std::string> short_room = first_text(outcome.facts[rank], fact_short_room);
      if (!short_room) continue;
      const bool is_told = outcome.text.find(*short_room) != std::string::npos;  // by an exception
      return {{mistake, is_told ? "" : *short_room}};
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
      outcome.facts, [](const Facts& facts) { return truncated_message(facts).has_value(); });
  const std::vector<int> shards = example.layout.shard_tokens();
  if (found == outcome.facts.end() || example.ranks() < 2) return {};
  std::vector<Finding> all{
      {"", fmt::format("the ranks' shards here have {} tokens; a token is {} bytes of k and as many of v",
                       fmt::join(shards, ", "), bytes_of_block(example, 1) / 2)}};
  const auto [least, most] = std::ranges::minmax(shards);
  const auto [arrived, room] = *truncated_message(*found);
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
    for (const auto& [kind, text] : outcome.facts[rank]) {
      if (kind != fact_short_message) continue;
      const Message message = message_of(text);
      if (is_in_a_padded_room(example, message)) continue;
      return fmt::format("rank {}: {} got {} bytes; the rest of its room stayed as it was", rank,
                         text.substr(text.find(": ") + 2), message.arrived);
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
