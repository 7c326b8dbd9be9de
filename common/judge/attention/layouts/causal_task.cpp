#include <cstdint>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/layouts/parts.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "ring/shards.hpp"

namespace course::layouts {

namespace {

enum class Work { OfRanges, Right, WholeBlocks, OwnerOff, Swapped, In32Bits };

struct Seeing {
  ring_mask::Steps mask = {};
  Work work = Work::OfRanges;
};

Index scores_of(const std::vector<KeyRange>& ranges) {
  Index scores = 0;
  for (const auto [first, last] : ranges) scores += last - first;
  return scores;
}

Answer seen(const Seeing& steps, const Example& example) {
  // The family of rings knows what is seen of a block.
  const Example ring = ring_mask::with_offset(
      {.what = "", .inputs = {}, .layout = layout_of(example), .topology = example.topology}, 0);
  const Layout& layout = ring.layout;
  const int ranks = layout.ranks();
  const auto see = [&](int rank, int owner, const ring_mask::Steps& mask) {
    return ring_mask::seen(ring, rank, owner, layout.tokens(owner), mask);
  };
  const Shape shape{ranks, ranks, largest_shard(layout.shard_tokens())};
  Answer answer{{"first", Tensor64(shape)}, {"last", Tensor64(shape)}, {"work", Tensor64({ranks, ranks})}};
  for (int rank = 0; rank < ranks; ++rank) {
    for (int other = 0; other < ranks; ++other) {
      Index query = 0;
      for (const auto [first, last] : see(rank, other, steps.mask)) {
        if (first < last) {
          answer["first"].heads()(rank, other, query) = static_cast<double>(first);
          answer["last"].heads()(rank, other, query) = static_cast<double>(last);
        }
        ++query;
      }
      const int owner = log_reading::holder(ring, rank, steps.work == Work::OwnerOff ? -other : other);
      Index scores = steps.work == Work::OfRanges  ? scores_of(see(rank, owner, steps.mask))
                     : steps.work == Work::Swapped ? scores_of(see(owner, rank, {}))
                                                   : scores_of(see(rank, owner, {}));
      if (steps.work == Work::WholeBlocks && scores > 0)
        scores = Index{layout.tokens(rank)} * layout.tokens(owner);
      if (steps.work == Work::In32Bits) scores = static_cast<std::int32_t>(scores);
      answer["work"].matrix()(rank, other) = static_cast<double>(scores);
    }
  }
  return answer;
}

std::vector<Mistake> wrong_seeing() {
  std::vector<Mistake> all =
      mistakes_of<Seeing>(seen, {{"whole_blocks_counted", {.work = Work::WholeBlocks}},
                                 {"overflows_32_bits", {.work = Work::In32Bits}},
                                 {"owner_off", {.work = Work::OwnerOff}},
                                 {"queries_and_keys_swapped", {.work = Work::Swapped}}});
  for (const auto& [id, mask] : ring_mask::wrong_steps()) {
    for (const Work work : {Work::OfRanges, Work::Right})
      all.push_back(ring_mask::mistake_of(id, mask, [mask = mask, work](const Example& example) {
        return seen({mask, work}, example);
      }));
  }
  return all;
}

/// Says why a range that has numbers of its own is shown as 0.
std::string empty_ranges(const Played& played) {
  const Tensor64 &first = played.answer.at("first"), &last = played.answer.at("last");
  const Tensor64& expected = played.expected.at("last");
  for (Index i = 0; i < expected.size(); ++i) {
    if (first[i] == 0 && last[i] == 0 && expected[i] > 0)
      return "a range without keys is shown as 0 to before 0, whatever its numbers are";
  }
  return "";
}

std::vector<Example> pairs(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const auto& [tokens, ranks] : {std::pair{1, 1}, {24, 4}, {20, 3}, {5, 8}}) {
    for (const auto& [kind, layout] : all_kinds(generator, tokens, ranks))
      all.push_back(
          pairs_example(std::to_string(tokens) + (tokens == 1 ? " token, " : " tokens, ") + kind, layout));
  }
  all.push_back(pairs_example("one rank, whose scores 32 bits do not count", std::vector{65536}));
  return all;
}

}  // namespace

Example pairs_example(std::string what, const Layout& layout) {
  return {std::move(what), {}, arguments_of(layout)};
}

Task causal_task(std::string id, std::string function) {
  const std::vector<std::string> axes{"rank", "block", "query"};
  Task made = exact_task<Seeing>(std::move(id), std::move(function),
                                 {{"first", axes, 0, "first of key_ranges"},
                                  {"last", axes, 0, "last of key_ranges"},
                                  {"work", {"rank", "step"}, 0, "causal_work"}},
                                 pairs, seen, {});
  made.mistakes = wrong_seeing();
  made.explain = empty_ranges;
  return made;
}

}  // namespace course::layouts
