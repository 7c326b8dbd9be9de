#include "judge/attention/ring/ring_mask.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <stdexcept>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/forward.hpp"
#include "protocol/fact_kinds.hpp"
#include "ring/shards.hpp"

namespace course::ring_mask {

namespace {

std::vector<Index> counted_from(Index first, Index count) {
  std::vector<Index> places(count);
  std::iota(places.begin(), places.end(), first);
  return places;
}

/// The positions of a shard of `of`, as `rank` takes them for.
std::vector<Index> positions_taken(FirstPosition how, const Layout& layout, int rank, int of) {
  const auto times = [&](int length) { return counted_from(Index{of} * length, layout.tokens(of)); };
  switch (how) {
    case FirstPosition::Sum:
      return layout.positions(of);
    case FirstPosition::TimesOwnLength:
      return times(layout.tokens(of));
    case FirstPosition::TimesRanksLength:
      return times(layout.tokens(rank));
    case FirstPosition::TimesFirstLength:
      return times(layout.tokens(0));
    case FirstPosition::TimesLongestLength:
      return times(largest_shard(layout.shard_tokens()));
  }
  throw std::logic_error("no such first position");
}

/// Whether the rule of these steps has a rank attend to the block at all.
bool is_chosen(Chosen chosen, int rank, int owner, int world_size) {
  if (chosen == Chosen::ByRanges) return true;
  if (chosen != Chosen::OtherDirection) return owner <= rank;
  return log_reading::holder_of_other_direction(rank, owner, world_size) <= rank;
}

KeyRange taken(const KeyRange& seen, Index keys, Taken how) {
  if (how == Taken::TheOthers) return {seen.last, keys};
  return how == Taken::Last ? KeyRange{keys - seen.last + seen.first, keys} : seen;
}

/// What a mask shows of so many keys.
std::vector<KeyRange> ranges(const reference::Mask& mask, Index queries, Index keys, Taken how) {
  std::vector<KeyRange> all;
  for (Index i = 0; i < queries; ++i) {
    const auto [first, last] = mask.keys(i);
    all.push_back(taken({std::min(first, keys), std::min(last, keys)}, keys, how));
  }
  return all;
}

bool have_shards_of_two_lengths(const Example& example) {
  const std::vector<double>& lengths = example.arguments.at("shard_tokens");
  return std::ranges::adjacent_find(lengths, std::not_equal_to{}) != lengths.end();
}

}  // namespace

std::vector<WrongSteps<Steps>> wrong_steps() {
  std::vector<WrongSteps<Steps>> all{{"mask_ignored", {.masked = false}},
                                     {"mask_ignored", {.masked = false, .chosen = Chosen::NotLater}},
                                     {"exclusive_diagonal", {.shift = -1}},
                                     {"offset_ignored", {.offset_factor = 0}},
                                     {"offset_subtracted", {.offset_factor = -1}},
                                     {"blocks_by_rank", {.chosen = Chosen::NotLater}},
                                     {"blocks_by_rank", {.chosen = Chosen::EarlierWhole}},
                                     {"rule_of_other_direction", {.chosen = Chosen::OtherDirection}},
                                     {"keys_from_the_wrong_end", {.taken = Taken::Last}},
                                     {"keys_from_the_wrong_end", {.taken = Taken::TheOthers}},
                                     {"queries_and_keys_swapped", {.swapped = true}}};
  for (const Local local : {Local::Queries, Local::Keys, Local::Both}) {
    for (const Chosen chosen : {Chosen::ByRanges, Chosen::NotLater}) {
      for (const Index offset_factor : {0, 1}) {
        all.push_back(
            {"mask_by_local_index", {.local = local, .offset_factor = offset_factor, .chosen = chosen}});
      }
    }
  }
  for (const FirstPosition first : {FirstPosition::TimesOwnLength, FirstPosition::TimesRanksLength,
                                    FirstPosition::TimesFirstLength, FirstPosition::TimesLongestLength})
    all.push_back({"equal_shards_assumed", {.first_position = first}});
  return all;
}

Mistake mistake_of(const char* id, const Steps& steps, std::function<Answer(const Example&)> answer) {
  Mistake mistake{id, std::move(answer)};
  if (steps.swapped) {
    mistake.throws = [](const Example& example, const Fact& told) {
      return have_shards_of_two_lengths(example) && told.kind == fact_ranges_of_other_queries;
    };
  }
  return mistake;
}

std::vector<KeyRange> seen(const Example& example, int rank, int owner, Index keys, const Steps& steps) {
  const Layout& layout = example.layout;
  const Index queries = layout.tokens(rank);
  const std::vector<KeyRange> all(queries, {0, keys}), none(queries, {0, 0});
  if (!is_masked(example)) return all;
  if (!is_chosen(steps.chosen, rank, owner, layout.ranks())) return none;
  if (!steps.masked || (steps.chosen == Chosen::EarlierWhole && owner < rank)) return all;
  const bool local_queries = steps.local == Local::Queries || steps.local == Local::Both;
  const bool local_keys = steps.local == Local::Keys || steps.local == Local::Both;
  const std::vector<Index> own =
      local_queries ? counted_from(0, queries) : positions_taken(steps.first_position, layout, rank, rank);
  const std::vector<Index> others = local_keys ? counted_from(0, layout.tokens(owner))
                                               : positions_taken(steps.first_position, layout, rank, owner);
  const reference::Mask mask =
      reference::Mask::causal(steps.offset_factor * integer(example, "offset") + steps.shift);
  if (!steps.swapped) return ranges(mask.among(own, others), queries, keys, steps.taken);
  std::vector<KeyRange> by_key = ranges(mask.among(others, own), layout.tokens(owner), keys, steps.taken);
  by_key.resize(queries, {0, 0});
  return by_key;
}

bool is_masked(const Example& example) {
  return example.arguments.contains("offset") || example.arguments.contains("starts");
}

bool is_seen(const Example& example, int rank, int owner) {
  const Layout& layout = example.layout;
  return keys_seen(example).work(layout.positions(rank), layout.positions(owner)) > 0;
}

bool skipped_a_hop(const Example& example, const Deadlock& deadlock) {
  if (!is_masked(example) || deadlock.kind != Deadlock::Kind::WaitsForFinished) return false;
  for (int rank = 0; rank < example.ranks(); ++rank) {
    if (std::ranges::count(deadlock.ranks, rank) > 0 || example.layout.tokens(rank) == 0) continue;
    for (int owner = 0; owner < example.ranks(); ++owner) {
      if (example.layout.tokens(owner) > 0 && !is_seen(example, rank, owner)) return true;
    }
  }
  return false;
}

Example with_offset(Example example, Index offset) {
  example.arguments["offset"] = {static_cast<double>(offset)};
  return example;
}

Index offset_that_hides(InputGenerator& generator, const Layout& layout) {
  const Index last = layout.tokens() - 1;
  for (int rank = 0; rank + 1 < layout.ranks(); ++rank) {
    if (layout.tokens(rank) == 0) continue;
    const Index fewest = layout.positions(rank).back() + 1;
    return -generator.integer(static_cast<int>(fewest), static_cast<int>(std::min(fewest + 1, last)));
  }
  return -generator.integer(1, static_cast<int>((last + 1) / 2));
}

}  // namespace course::ring_mask
