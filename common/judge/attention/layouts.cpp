#include "judge/attention/layouts.hpp"

#include <algorithm>
#include <numeric>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/ring_mask.hpp"
#include "judge/diagnose.hpp"
#include "ring/shards.hpp"

namespace course::layouts {

namespace {

using Positions = std::vector<Index>;
using Lists = std::vector<Positions>;

/// Rows of a list a rank, -1 behind its end; a list that is longer than the row is cut.
template <class T>
Tensor64 padded(const std::vector<std::vector<T>>& lists, Index length) {
  Tensor64 rows({std::ssize(lists), length}, -1);
  for (Index rank = 0; rank < std::ssize(lists); ++rank) {
    const std::vector<T>& list = lists[rank];
    std::copy_n(list.begin(), std::min<Index>(std::ssize(list), length), rows.matrix().row(rank).begin());
  }
  return rows;
}

const std::vector<double>& argument(const Example& example, const char* name) {
  return example.arguments.at(name);
}

Layout layout_of(const Example& example) {
  Lists lists;
  auto next = argument(example, "positions").begin();
  for (const double tokens : argument(example, "shard_tokens")) {
    const auto end = next + static_cast<Index>(tokens);
    lists.emplace_back(next, end);
    next = end;
  }
  return Layout::of(std::move(lists));
}

// Who owns what

/// The positions of one rank.
using Owned = Positions (*)(int tokens, int ranks, int rank);

Positions from_to(Index first, Index last) {
  Positions positions(std::max<Index>(0, last - first));
  std::iota(positions.begin(), positions.end(), first);
  return positions;
}

Positions striped(int tokens, int ranks, int rank) {
  return Layout::striped(tokens, ranks).positions(rank);
}

Positions zigzag(int tokens, int ranks, int rank) {
  return Layout::zigzag(even_shards(tokens, 2 * ranks)).positions(rank);
}

Positions contiguous(int tokens, int ranks, int rank) {
  return Layout(even_shards(tokens, ranks)).positions(rank);
}

Layout boustrophedon_layout(int tokens, int ranks) {
  Lists lists(ranks);
  for (int t = 0; t < tokens; ++t) {
    const int along = t % ranks;
    lists[t / ranks % 2 == 0 ? along : ranks - 1 - along].push_back(t);
  }
  return Layout::of(std::move(lists));
}

Positions boustrophedon(int tokens, int ranks, int rank) {
  return boustrophedon_layout(tokens, ranks).positions(rank);
}

/// Two chunks of 2 `ranks`, each from start(chunk) to start(chunk + 1).
template <class Start>
Positions two_chunks(int one, int other, Start start) {
  Positions both = from_to(start(one), start(one + 1));
  const Positions more = from_to(start(other), start(other + 1));
  both.insert(both.end(), more.begin(), more.end());
  return both;
}

/// Where a chunk begins when the first few hold one token more; beyond the last one, too.
auto even_start(int tokens, int ranks) {
  return [=](int chunk) { return chunk * (tokens / (2 * ranks)) + std::min(chunk, tokens % (2 * ranks)); };
}

template <class Other>
Positions paired(int tokens, int ranks, int rank, Other other) {
  return two_chunks(rank, other(rank, ranks), even_start(tokens, ranks));
}

Positions one_below(int tokens, int ranks, int rank) {
  return paired(tokens, ranks, rank, [](int r, int p) { return 2 * p - 2 - r; });
}

Positions one_above(int tokens, int ranks, int rank) {
  return paired(tokens, ranks, rank, [](int r, int p) { return 2 * p - r; });
}

Positions one_above_round(int tokens, int ranks, int rank) {
  return paired(tokens, ranks, rank, [](int r, int p) { return (2 * p - r) % (2 * p); });
}

Positions from_the_middle(int tokens, int ranks, int rank) {
  return paired(tokens, ranks, rank, [](int r, int p) { return p + r; });
}

Positions neighbours(int tokens, int ranks, int rank) {
  return two_chunks(2 * rank, 2 * rank + 1, even_start(tokens, ranks));
}

Positions stripes_of_whole_rounds(int tokens, int ranks, int rank) {
  return striped(tokens / ranks * ranks, ranks, rank);
}

Positions zigzag_of_whole_chunks(int tokens, int ranks, int rank) {
  return zigzag(tokens / (2 * ranks) * 2 * ranks, ranks, rank);
}

Positions zigzag_with_a_long_last_chunk(int tokens, int ranks, int rank) {
  const int chunks = 2 * ranks;
  return two_chunks(rank, chunks - 1 - rank,
                    [=](int chunk) { return chunk == chunks ? tokens : chunk * (tokens / chunks); });
}

Positions zigzag_in_proportion(int tokens, int ranks, int rank) {
  return two_chunks(rank, 2 * ranks - 1 - rank, [=](int chunk) { return chunk * tokens / (2 * ranks); });
}

/// As PyTorch's chunk: all as long as the longest, until nothing is left.
Positions zigzag_rounded_up(int tokens, int ranks, int rank) {
  const int length = (tokens + 2 * ranks - 1) / (2 * ranks);
  return two_chunks(rank, 2 * ranks - 1 - rank, [=](int chunk) { return std::min(tokens, chunk * length); });
}

struct Ownership {
  Owned striped_by = striped;
  Owned zigzag_by = zigzag;
};

Answer owned(const Ownership& ownership, const Example& example) {
  const int tokens = static_cast<int>(argument(example, "tokens").at(0));
  const int ranks = static_cast<int>(argument(example, "ranks").at(0));
  const auto all = [&](Owned by) {
    Lists lists;
    for (int rank = 0; rank < ranks; ++rank) lists.push_back(by(tokens, ranks, rank));
    return padded(lists, tokens + 2);
  };
  return {{"striped", all(ownership.striped_by)}, {"zigzag", all(ownership.zigzag_by)}};
}

std::vector<WrongSteps<Ownership>> wrong_ownership() {
  return {{"chunk_pairing_off", {.zigzag_by = one_below}},
          {"chunk_pairing_off", {.zigzag_by = one_above}},
          {"chunk_pairing_off", {.zigzag_by = one_above_round}},
          {"chunk_from_the_middle", {.zigzag_by = from_the_middle}},
          {"neighbouring_chunks", {.zigzag_by = neighbours}},
          {"boustrophedon", {.zigzag_by = boustrophedon}},
          {"stripes_contiguous", {.striped_by = contiguous}},
          {"remainder_dropped", {.striped_by = stripes_of_whole_rounds}},
          {"remainder_dropped", {.zigzag_by = zigzag_of_whole_chunks}},
          {"remainder_dropped", {.striped_by = stripes_of_whole_rounds, .zigzag_by = zigzag_of_whole_chunks}},
          {"chunks_cut_otherwise", {.zigzag_by = zigzag_with_a_long_last_chunk}},
          {"chunks_cut_otherwise", {.zigzag_by = zigzag_in_proportion}},
          {"chunks_cut_otherwise", {.zigzag_by = zigzag_rounded_up}}};
}

/// Says what -1 is where a list does not end where it should.
std::string wrong_length(const Played& played) {
  for (const auto& [name, expected] : played.expected) {
    const Tensor64& answer = played.answer.at(name);
    for (Index i = 0; i < expected.size(); ++i) {
      if ((answer[i] == -1) != (expected[i] == -1))
        return "-1 stands where a rank has no more positions: some rank has too few or too many";
    }
  }
  return "";
}

std::vector<Example> worlds(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    const int chunk = generator.integer(2, 6);
    all.push_back(world_example("2P equal chunks, P = " + std::to_string(ranks), 2 * ranks * chunk, ranks));
    const int more = generator.integer(1, 2 * ranks - 1);
    all.push_back(
        world_example("unequal chunks, P = " + std::to_string(ranks), 2 * ranks * chunk + more, ranks));
  }
  // One token in the last chunk but one, and none in the last: where the chunks are cut shows.
  all.push_back(world_example("fewer tokens than chunks", generator.integer(3, 7), 4));
  all.push_back(world_example("20 tokens, P = 3", 20, 3));
  return all;
}

// Rows

/// The position of each row, when all shards lie one after another.
Positions order_of(const Layout& layout) {
  Positions order;
  for (int rank = 0; rank < layout.ranks(); ++rank)
    std::ranges::copy(layout.positions(rank), std::back_inserter(order));
  return order;
}

enum class Shards { Right, FromFirstPosition };
enum class Whole { Right, NotInverse, AsGathered };

struct Reordering {
  Shards shards = Shards::Right;
  Whole whole = Whole::Right;
};

Answer reordered(const Reordering& steps, const Example& example) {
  const Layout layout = layout_of(example);
  const Tensor64 x = cast<double>(example.inputs.at("x"));
  const Tensor64 gathered = cast<double>(example.inputs.at("gathered"));
  std::vector<Tensor64> shards;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    Positions rows = layout.positions(rank);
    if (steps.shards == Shards::FromFirstPosition && !rows.empty())
      rows = from_to(rows.front(), rows.front() + std::ssize(rows));
    shards.push_back(take(x, 1, rows));
  }
  Tensor64 whole = layout.in_order(gathered, 1);
  if (steps.whole == Whole::NotInverse) whole = take(gathered, 1, order_of(layout));
  if (steps.whole == Whole::AsGathered) whole = gathered;
  return {{"shards", concatenate(shards, 1)}, {"whole", std::move(whole)}};
}

std::vector<Example> tensors(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const auto& [tokens, ranks] : {std::pair{24, 3}, {23, 4}, {7, 5}}) {
    for (const auto& [kind, layout] : all_kinds(generator, tokens, ranks)) {
      all.push_back(tensor_example(generator, std::to_string(tokens) + " tokens, " + kind, layout, 2,
                                   generator.integer(2, 5)));
    }
  }
  return all;
}

// Sequences

constexpr double ignored_label = -100;

enum class Labels { Right, ShiftedAfterSharding, ShardRolled, NotShifted };
enum class Ids { Right, Local, FromFirstPosition };

struct Feeding {
  Labels labels = Labels::Right;
  Ids ids = Ids::Right;
  /// What the sequence's last token is given; of the sequence, or a number.
  double (*last_label)(const std::vector<double>& sequence) = [](const std::vector<double>&) {
    return ignored_label;
  };
};

std::vector<double> labels_of(const Feeding& steps, const std::vector<double>& sequence,
                              const Positions& own) {
  std::vector<double> labels;
  for (Index i = 0; i < std::ssize(own); ++i) {
    const bool last_of_shard = i + 1 == std::ssize(own);
    const bool last = own[i] + 1 == std::ssize(sequence);
    switch (steps.labels) {
      case Labels::Right:
        labels.push_back(last ? steps.last_label(sequence) : sequence[own[i] + 1]);
        break;
      case Labels::ShiftedAfterSharding:
        labels.push_back(last_of_shard ? ignored_label : sequence[own[i + 1]]);
        break;
      case Labels::ShardRolled:
        labels.push_back(sequence[own[last_of_shard ? 0 : i + 1]]);
        break;
      case Labels::NotShifted:
        labels.push_back(sequence[own[i]]);
    }
  }
  return labels;
}

Answer fed(const Feeding& steps, const Example& example) {
  const Layout layout = layout_of(example);
  const std::vector<double>& sequence = argument(example, "sequence");
  std::vector<std::vector<double>> tokens, labels;
  Lists ids;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    const Positions& own = layout.positions(rank);
    labels.push_back(labels_of(steps, sequence, own));
    std::vector<double>& own_tokens = tokens.emplace_back();
    for (const Index position : own) own_tokens.push_back(sequence[position]);
    ids.push_back(own);
    if (steps.ids == Ids::Right || own.empty()) continue;
    const Index first = steps.ids == Ids::Local ? 0 : own.front();
    ids.back() = from_to(first, first + std::ssize(own));
  }
  const Index longest = largest_shard(layout.shard_tokens());
  return {{"tokens", padded(tokens, longest)},
          {"labels", padded(labels, longest)},
          {"position_ids", padded(ids, longest)}};
}

std::vector<WrongSteps<Feeding>> wrong_feeding() {
  using Sequence = std::vector<double>;
  return {{"labels_shifted_after_sharding", {.labels = Labels::ShiftedAfterSharding}},
          {"labels_shifted_after_sharding", {.labels = Labels::ShardRolled}},
          {"labels_not_shifted", {.labels = Labels::NotShifted}},
          {"last_label_not_ignored", {.last_label = [](const Sequence& all) { return all.front(); }}},
          {"last_label_not_ignored", {.last_label = [](const Sequence& all) { return all.back(); }}},
          {"last_label_not_ignored", {.last_label = [](const Sequence&) { return 0.0; }}},
          {"last_label_not_ignored", {.last_label = [](const Sequence&) { return -1.0; }}},
          {"rotary_left_contiguous", {.ids = Ids::Local}},
          {"rotary_left_contiguous", {.ids = Ids::FromFirstPosition}}};
}

std::vector<Example> sequences(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const auto& [tokens, ranks] : {std::pair{24, 3}, {21, 2}, {6, 8}}) {
    for (const auto& [kind, layout] : all_kinds(generator, tokens, ranks))
      all.push_back(sequence_example(generator, std::to_string(tokens) + " tokens, " + kind, layout));
  }
  return all;
}

// Ranges and work

enum class Work { OfRanges, Right, WholeBlocks, OwnerOff, Swapped };

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
  const Example ring = ring_mask::with_offset({.what = "", .inputs = {}, .layout = layout_of(example)}, 0);
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
      const int owner = log_reading::holder(rank, steps.work == Work::OwnerOff ? -other : other, ranks);
      Index scores = steps.work == Work::OfRanges  ? scores_of(see(rank, owner, steps.mask))
                     : steps.work == Work::Swapped ? scores_of(see(owner, rank, {}))
                                                   : scores_of(see(rank, owner, {}));
      if (steps.work == Work::WholeBlocks && scores > 0)
        scores = Index{layout.tokens(rank)} * layout.tokens(owner);
      answer["work"].matrix()(rank, other) = static_cast<double>(scores);
    }
  }
  return answer;
}

std::vector<Mistake> wrong_seeing() {
  std::vector<Mistake> all =
      mistakes_of<Seeing>(seen, {{"whole_blocks_counted", {.work = Work::WholeBlocks}},
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
      all.push_back(pairs_example(std::to_string(tokens) + " tokens, " + kind, layout));
  }
  return all;
}

/// A task whose answers are whole numbers, or copies: a right one is exact.
template <class Steps>
Task exact_task(std::string id, std::string function, std::vector<Output> outputs,
                std::vector<Example> (*examples)(InputGenerator&, int),
                Answer (*run)(const Steps&, const Example&), const std::vector<WrongSteps<Steps>>& wrong) {
  const auto right = [run](const Example& example) { return run({}, example); };
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = std::move(outputs),
          .examples = examples,
          .expected = right,
          .baseline = right,
          .mistakes = mistakes_of<Steps>(run, wrong),
          .of_family = true};
}

}  // namespace

std::vector<std::pair<std::string, Layout>> all_kinds(InputGenerator& generator, int tokens, int ranks) {
  Lists drawn(ranks);
  for (int t = 0; t < tokens; ++t) drawn[generator.integer(0, ranks - 1)].push_back(t);
  return {{"contiguous", even_shards(tokens, ranks)},
          {"striped", Layout::striped(tokens, ranks)},
          {"zigzag", Layout::zigzag(even_shards(tokens, 2 * ranks))},
          {"boustrophedon", boustrophedon_layout(tokens, ranks)},
          {"each token on any rank", Layout::of(std::move(drawn))}};
}

Arguments arguments_of(const Layout& layout) {
  const std::vector<int> lengths = layout.shard_tokens();
  const Positions order = order_of(layout);
  return {{"shard_tokens", {lengths.begin(), lengths.end()}}, {"positions", {order.begin(), order.end()}}};
}

Example world_example(std::string what, int tokens, int ranks) {
  return {std::move(what),
          {},
          {{"tokens", {static_cast<double>(tokens)}}, {"ranks", {static_cast<double>(ranks)}}}};
}

Example tensor_example(InputGenerator& generator, std::string what, const Layout& layout, Index heads,
                       Index head_dim) {
  const Shape shape{heads, layout.tokens(), head_dim};
  return {std::move(what),
          {{"x", generator.normal(shape)}, {"gathered", generator.normal(shape)}},
          arguments_of(layout)};
}

Example sequence_example(InputGenerator& generator, std::string what, const Layout& layout) {
  Example example{std::move(what), {}, arguments_of(layout)};
  std::vector<double>& sequence = example.arguments["sequence"];
  for (int t = 0; t < layout.tokens(); ++t) sequence.push_back(generator.integer(1, 50000));
  return example;
}

Example pairs_example(std::string what, const Layout& layout) {
  return {std::move(what), {}, arguments_of(layout)};
}

Task positions_task(std::string id, std::string function) {
  Task made = exact_task<Ownership>(std::move(id), std::move(function),
                                    {{"striped", {"rank", "row"}, 0, "striped_positions"},
                                     {"zigzag", {"rank", "row"}, 0, "zigzag_positions"}},
                                    worlds, owned, wrong_ownership());
  made.explain = wrong_length;
  return made;
}

Task reorder_task(std::string id, std::string function) {
  return exact_task<Reordering>(
      std::move(id), std::move(function),
      {{"shards", {"head", "row", "col"}, 0, "the shards of shard_rows, one after another"},
       {"whole", {"head", "position", "col"}, 0, "the whole of unshard_rows"}},
      tensors, reordered,
      {{"permutation_not_inverse", {.whole = Whole::NotInverse}},
       {"not_reordered", {.whole = Whole::AsGathered}},
       {"rows_from_first_position", {.shards = Shards::FromFirstPosition}}});
}

Task batch_task(std::string id, std::string function) {
  return exact_task<Feeding>(
      std::move(id), std::move(function),
      {{"tokens", {"rank", "row"}}, {"labels", {"rank", "row"}}, {"position_ids", {"rank", "row"}}},
      sequences, fed, wrong_feeding());
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
