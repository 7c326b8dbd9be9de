#include <algorithm>

#include "judge/attention/block/state_forward.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/ring/ring_backward.hpp"
#include "judge/attention/ring/ring_forward.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "judge/task.hpp"
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

Answer right_ranges(const Example& example) {
  return ranges({}, example);
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
          block_example("the block before", far, n, far - n, n, 0),
          block_example("the block behind", far, n, far + n, n, 0),
          block_example("the whole sequence", 0, n, 0, n, 0),
          block_example("the last queries of more keys", 0, n, 0, n + 5, 5),
          block_example("more queries than keys, the last aligned with the last", 0, n + 3, 0, n, -3),
          block_example("more queries than keys, the first aligned with the first", 0, n + 3, 0, n, 0),
          block_example("a block that an offset shows in part", far, n, far + n, n, n / 2 + 1),
          block_example("a block that an offset hides in part", far, n, far - n, n, -n - 2),
          block_example("no keys", far, n, 7, 0, 0),
          block_example("no queries", far, 0, 7, n, 0)};
}

Task ranges_task() {
  return {.id = "1",
          .function = "key_ranges",
          .outputs = {{"first", {"query", ""}}, {"last", {"query", ""}}},
          .examples = blocks,
          .expected = right_ranges,
          .baseline = right_ranges,
          .mistakes = mistakes_of<Rule>(
              ranges, {{"exclusive_diagonal", {.shift = -1}},
                       {"offset_ignored", {.offset = 0}},
                       {"offset_subtracted", {.offset = -1}},
                       {"range_unclamped", {.clamped_below = false, .clamped_above = false}},
                       {"range_unclamped", {.clamped_below = false}},
                       {"range_unclamped", {.clamped_above = false}},
                       {"mask_by_local_index", {.query_position = 0}},
                       {"mask_by_local_index", {.key_position = 0}},
                       {"mask_by_local_index", {.query_position = 0, .key_position = 0}}})};
}

// Task 2

/// What the work table counts, right or wrong.
struct Count {
  ring_mask::Steps mask = {};
  int direction = 1;         ///< blocks go to rank + 1, or to rank - 1
  bool whole_block = false;  ///< a block of which any key is seen counts with all of its scores
};

Answer table(const Count& count, const Example& example) {
  const std::vector<double>& given = example.arguments.at("shards");
  const int world_size = static_cast<int>(given.size());
  const Example ring{"", {}, example.arguments, Layout(std::vector<int>(given.begin(), given.end()))};
  Tensor64 scores({world_size, world_size});
  for (int rank = 0; rank < world_size; ++rank) {
    for (int step = 0; step < world_size; ++step) {
      const int owner = (rank - count.direction * step + world_size) % world_size;
      const Index keys = ring.layout.tokens(owner);
      Index seen = 0;
      for (const auto [first, last] : ring_mask::seen(ring, rank, owner, keys, count.mask))
        seen += last - first;
      if (count.whole_block && seen > 0) seen = keys * ring.layout.tokens(rank);
      scores.matrix()(rank, step) = static_cast<double>(seen);
    }
  }
  return {{"scores", scores}};
}

Answer right_table(const Example& example) {
  return table({}, example);
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
    add("an offset that hides keys", shards, ring_mask::offset_that_hides(generator, shards));
    add("an offset that shows later keys", shards, generator.integer(2, 8));
  }
  return all;
}

Task work_task() {
  std::vector<WrongSteps<Count>> wrong{{"owner_off", {.direction = -1}},
                                       {"diagonal_counted_whole", {.whole_block = true}}};
  for (const auto& [mistake, mask] : ring_mask::wrong_steps()) wrong.push_back({mistake, {.mask = mask}});
  return {.id = "2",
          .function = "work",
          .outputs = {{"scores", {"rank", "step"}}},
          .examples = worlds,
          .expected = right_table,
          .baseline = right_table,
          .mistakes = mistakes_of<Count>(table, wrong),
          .of_family = true};
}

}  // namespace

LessonJudge course::lesson_judge() {
  Task forward = ring_forward::masked_task("4", "causal_ring_attention");
  forward.communication_checks = ring_forward::blocking_checks();
  Task backward = ring_backward::masked_task("5", "causal_ring_backward");
  backward.communication_checks = ring_backward::blocking_checks(backward);
  return {"13",
          {ranges_task(), work_task(), state_forward::range_task("3", "attend_seen"), forward, backward}};
}
