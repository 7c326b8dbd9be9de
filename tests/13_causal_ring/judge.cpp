#include <algorithm>

#include "judge/attention/forward.hpp"
#include "judge/attention/range_walk.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "judge/exact_task.hpp"
#include "ring/shards.hpp"

using namespace course;

namespace {

// Task 1

/// From positions to a range of the block, with steps as switches.
struct Rule {
  double query_position = 1;  ///< what the first query's position is multiplied by
  double key_position = 1;    ///< and the first key's
  double offset = 1;
  double shift = 0;
  bool clamped_below = true;
  bool clamped_above = true;
};

Answer ranges(const Rule& rule, const Example& example) {
  const auto number = [&](const char* name) { return example.arguments.at(name).at(0); };
  const Shape one_a_query{integer(example, "queries"), 1};
  Tensor64 first(one_a_query), last(one_a_query);
  for (Index i = 0; i < last.size(); ++i) {
    const double position = rule.query_position * number("first_query") + static_cast<double>(i);
    last[i] =
        position + rule.offset * number("offset") + rule.shift + 1 - rule.key_position * number("first_key");
    if (rule.clamped_below) last[i] = std::max(last[i], 0.0);
    if (rule.clamped_above) last[i] = std::min(last[i], number("keys"));
  }
  return {{"first", first}, {"last", last}};
}

Example block_example(std::string what, int first_query, int queries, int first_key, int keys, int offset) {
  Example example{std::move(what), {}};
  const auto set = [&](const char* name, int value) { example.arguments[name] = {1.0 * value}; };
  set("first_query", first_query);
  set("queries", queries);
  set("first_key", first_key);
  set("keys", keys);
  set("offset", offset);
  return example;
}

std::vector<Example> blocks(InputGenerator& generator, int) {
  const int n = generator.integer(4, 9), far = generator.integer(20, 40);
  return {block_example("a shard's own block", far, n, far, n, 0),
          block_example("an earlier block", far, n, far - n, n, 0),
          block_example("a later block", far, n, far + n, n, 0),
          block_example("the whole sequence", 0, n, 0, n, 0),
          block_example("more keys than queries, aligned at the end", 0, n, 0, n + 5, 5),
          block_example("more queries than keys, aligned at the end", 0, n + 3, 0, n, -3),
          block_example("more queries than keys, aligned at the beginning", 0, n + 3, 0, n, 0),
          block_example("a block that an offset shows in part", far, n, far + n, n, n / 2 + 1),
          block_example("a block that an offset hides in part", far, n, far - n, n, -n - 2),
          block_example("no keys", far, n, 7, 0, 0),
          block_example("no queries", far, 0, 7, n, 0)};
}

Task ranges_task() {
  Task task = exact_task("1", "key_ranges", {{"first", {"row", ""}}, {"last", {"row", ""}}}, blocks,
                         [](const Example& example) { return ranges({}, example); });
  task.mistakes =
      mistakes_of<Rule>(ranges, {{"exclusive_diagonal", {.shift = -1}},
                                 {"offset_ignored", {.offset = 0}},
                                 {"offset_subtracted", {.offset = -1}},
                                 {"range_unclamped", {.clamped_below = false, .clamped_above = false}},
                                 {"range_unclamped", {.clamped_below = false}},
                                 {"range_unclamped", {.clamped_above = false}},
                                 {"mask_by_local_index", {.query_position = 0}},
                                 {"mask_by_local_index", {.key_position = 0}},
                                 {"mask_by_local_index", {.query_position = 0, .key_position = 0}}});
  task.explain = telling_arguments({"first_query", "first_key", "keys", "offset"});
  return task;
}

// Task 2

/// What the work table counts, right or wrong.
struct Count {
  ring_mask::Steps mask = {};
  int direction = 1;               ///< blocks go to rank + 1, or to rank - 1
  bool whole_block = false;        ///< a block of which any key is seen counts with all of its scores
  bool lengths_exchanged = false;  ///< as many queries as the owner has, as many keys as the rank has
};

/// What queries of which rank `rank` has the first see of keys of which rank `owner` has the first, with
/// each other's number of them.
Index scores_of_exchanged_lengths(const Example& ring, int rank, int owner) {
  const Layout& layout = ring.layout;
  const auto first_position = [&](int of) {
    Index tokens = 0;
    for (int before = 0; before < of; ++before) tokens += layout.tokens(before);
    return tokens;
  };
  Index scores = 0;
  for (Index i = 0; i < layout.tokens(owner); ++i) {
    const Index end = first_position(rank) + i + integer(ring, "offset") + 1 - first_position(owner);
    scores += std::clamp<Index>(end, 0, layout.tokens(rank));
  }
  return scores;
}

Index scores_counted(const Count& count, const Example& ring, int rank, int owner) {
  if (count.lengths_exchanged) return scores_of_exchanged_lengths(ring, rank, owner);
  // Whoever exchanges the two counts what the owner sees of the rank's block.
  const bool exchanged = count.mask.swapped;
  ring_mask::Steps mask = count.mask;
  mask.swapped = false;
  const Index keys = ring.layout.tokens(exchanged ? rank : owner);
  Index seen = 0;
  for (const auto [first, last] :
       ring_mask::seen(ring, exchanged ? owner : rank, exchanged ? rank : owner, keys, mask))
    seen += last - first;
  return count.whole_block && seen > 0 ? keys * ring.layout.tokens(rank) : seen;
}

Answer table(const Count& count, const Example& example) {
  const std::vector<double>& given = example.arguments.at("shards");
  const int world_size = static_cast<int>(given.size());
  const Example ring{"", {}, example.arguments, Layout(std::vector<int>(given.begin(), given.end()))};
  Tensor64 scores({world_size, world_size});
  for (int rank = 0; rank < world_size; ++rank) {
    for (int step = 0; step < world_size; ++step) {
      const int owner = (rank - count.direction * step + world_size) % world_size;
      scores.matrix()(rank, step) = static_cast<double>(scores_counted(count, ring, rank, owner));
    }
  }
  return {{"scores", scores}};
}

std::vector<Example> worlds(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, const std::vector<int>& shards, Index offset) {
    all.push_back(ring_mask::with_offset(
        {what + ", P = " + std::to_string(shards.size()), {}, {{"shards", {shards.begin(), shards.end()}}}},
        offset));
  };
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    add("equal shards", std::vector<int>(ranks, generator.integer(3, 50)), 0);
    const std::vector<int> shards = unequal_shards(generator, ranks);
    add("unequal shards", shards, 0);
    add("unequal shards and an offset that hides keys", shards,
        ring_mask::offset_that_hides(generator, shards));
    add("unequal shards and an offset that shows later keys", shards, generator.integer(2, 8));
  }
  add("shards whose scores 32 bits do not count", {65536, 65536}, 0);
  return all;
}

Task work_task() {
  std::vector<WrongSteps<Count>> wrong{{"owner_off", {.direction = -1}},
                                       {"diagonal_counted_whole", {.whole_block = true}},
                                       {"lengths_exchanged", {.lengths_exchanged = true}}};
  for (const auto& [mistake, mask] : ring_mask::wrong_steps()) wrong.push_back({mistake, {.mask = mask}});
  Task task = exact_task("2", "work", {{"scores", {"rank", "step"}}}, worlds,
                         [](const Example& example) { return table({}, example); });
  task.mistakes = mistakes_of<Count>(table, wrong);
  task.of_family = true;
  task.uses = "1";
  task.explain = telling_arguments({"shards", "offset"});
  return task;
}

}  // namespace

LessonJudge course::lesson_judge() {
  Task forward = ring_forward::masked_task("4", "causal_ring_attention");
  forward.uses = "1";
  forward.communication_checks = ring_forward::blocking_checks();
  Task backward = ring_backward::masked_task("5", "causal_ring_backward");
  backward.uses = "1";
  backward.communication_checks = ring_backward::blocking_checks(backward);
  return {"13", {ranges_task(), work_task(), range_walk::task("3", "attend_seen"), forward, backward}};
}
