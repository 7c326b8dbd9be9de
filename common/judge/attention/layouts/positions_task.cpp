#include "judge/attention/layouts/parts.hpp"
#include "ring/shards.hpp"

namespace course::layouts {

namespace {

/// The positions of one rank.
using Owned = Positions (*)(int tokens, int ranks, int rank);

Positions striped(int tokens, int ranks, int rank) {
  return Layout::striped(tokens, ranks).positions(rank);
}

Positions zigzag(int tokens, int ranks, int rank) {
  return Layout::zigzag(even_shards(tokens, 2 * ranks)).positions(rank);
}

Positions contiguous(int tokens, int ranks, int rank) {
  return Layout(even_shards(tokens, ranks)).positions(rank);
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

Positions later_first(int tokens, int ranks, int rank) {
  return two_chunks(2 * ranks - 1 - rank, rank, even_start(tokens, ranks));
}

/// Every second chunk from the front, with its partner.
Positions every_second(int tokens, int ranks, int rank) {
  return two_chunks(2 * rank, 2 * ranks - 1 - 2 * rank, even_start(tokens, ranks));
}

Positions every_second_ascending(int tokens, int ranks, int rank) {
  const auto [earlier, later] = std::minmax({2 * rank, 2 * ranks - 1 - 2 * rank});
  return two_chunks(earlier, later, even_start(tokens, ranks));
}

/// Rank 0 has the pair in the middle.
Positions from_the_inside(int tokens, int ranks, int rank) {
  return two_chunks(ranks - 1 - rank, ranks + rank, even_start(tokens, ranks));
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
          {"later_chunk_first", {.zigzag_by = later_first}},
          {"pairs_of_other_ranks", {.zigzag_by = every_second}},
          {"pairs_of_other_ranks", {.zigzag_by = every_second_ascending}},
          {"pairs_of_other_ranks", {.zigzag_by = from_the_inside}},
          {"boustrophedon", {.zigzag_by = boustrophedon}},
          {"stripes_contiguous", {.striped_by = contiguous}},
          {"remainder_dropped", {.striped_by = stripes_of_whole_rounds}},
          {"remainder_dropped", {.zigzag_by = zigzag_of_whole_chunks}},
          {"remainder_dropped", {.striped_by = stripes_of_whole_rounds, .zigzag_by = zigzag_of_whole_chunks}},
          {"chunks_cut_otherwise", {.zigzag_by = zigzag_with_a_long_last_chunk}},
          {"chunks_cut_otherwise", {.zigzag_by = zigzag_in_proportion}},
          {"chunks_cut_otherwise", {.zigzag_by = zigzag_rounded_up}}};
}

constexpr double no_position = -1;

/// Says what -1 is where a list does not end where it should.
std::string wrong_length(const Played& played) {
  for (const auto& [name, expected] : played.expected) {
    const Tensor64& answer = played.answer.at(name);
    for (Index i = 0; i < expected.size(); ++i) {
      if ((answer[i] == no_position) != (expected[i] == no_position))
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

}  // namespace

Example world_example(std::string what, int tokens, int ranks) {
  return {std::move(what),
          {},
          {{"tokens", {static_cast<double>(tokens)}}, {"ranks", {static_cast<double>(ranks)}}}};
}

Task positions_task(std::string id, std::string function) {
  Task made = exact_task<Ownership>(std::move(id), std::move(function),
                                    {{"striped", {"rank", "row"}, 0, "striped_positions", no_position},
                                     {"zigzag", {"rank", "row"}, 0, "zigzag_positions", no_position}},
                                    worlds, owned, wrong_ownership());
  made.explain = wrong_length;
  return made;
}

}  // namespace course::layouts
