#include "judge/attention/grouped/rings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/grouped/examples.hpp"
#include "judge/attention/packed/tasks.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "reference/score_bias.hpp"

namespace course::packed {

namespace {

std::vector<float> slopes_of(int heads) {
  const std::vector<double> slopes = reference::alibi_slopes(heads);
  return {slopes.begin(), slopes.end()};
}

/// Keys of every other document score 60 more, so that a document that looks into another is seen.
Example far_apart(Example example) {
  const std::vector<double>& starts = example.arguments.at("starts");
  Tensor &q = example.inputs["q"], &k = example.inputs["k"];
  const float unit = std::sqrt(static_cast<float>(q.extent(2)));
  for (std::size_t document = 1; document + 1 < starts.size(); document += 2) {
    for (Index head = 0; head < k.extent(0); ++head) {
      for (Index j = static_cast<Index>(starts[document]); j < starts[document + 1]; ++j)
        k.heads()(head, j, 0) = 60;
    }
  }
  for (Index head = 0; head < q.extent(0); ++head) {
    for (Index i = 0; i < q.extent(1); ++i) q.heads()(head, i, 0) = unit;
  }
  example.what += ", scores 60 apart";
  return example;
}

/// A number a head near 0; unless every query sees one key alone, the first two are these.
std::vector<float> draw_sinks(InputGenerator& generator, int heads, bool one_key, float first, float second) {
  std::vector<float> sinks;
  for (int head = 0; head < heads; ++head) sinks.push_back(static_cast<float>(generator.uniform(-1, 1)));
  if (one_key) return sinks;
  sinks[0] = first;
  sinks[1] = second;
  return sinks;
}

/// Where one key has all the weight, gradients cancel to 0: for gradients, a window has a sink beside its one
/// key, and no sink is large.
std::vector<Example> rings_of_rows(InputGenerator& generator, int ranks, bool for_gradients) {
  const std::vector<grouped::Sizes> sizes{
      {4, 2, 4, 4}, {6, 2, 3, 5}, {3, 3, 5, 2}, {12, 3, 2, 3}, {8, 1, 4, 4}};
  std::vector<Example> all;
  for (const Row& row : rows_on_layouts(generator, ranks)) {
    if (!row.for_rings) continue;
    const std::size_t turn = all.size();
    const grouped::Sizes& of_heads = sizes[turn % sizes.size()];
    const int heads = static_cast<int>(of_heads.heads);
    const bool one_key = for_gradients && row.mask.window == 1;
    std::vector<float> sinks, slopes;
    if (one_key || turn % 4 != 2)
      sinks = draw_sinks(generator, heads, one_key, turn % 2 == 0 ? 0.5f : -20, for_gradients ? 3 : 60);
    if (turn % 3 == 1) slopes = slopes_of(heads);
    std::string what = row.what + (sinks.empty() ? ", no sinks" : "") + (slopes.empty() ? "" : ", ALiBi");
    all.push_back(make_example(generator, std::move(what), row.layout, of_heads, row.mask, slopes, sinks));
    const bool has_documents = row.mask.starts.size() > 3 && row.mask.starts[1] > 1;
    if (!for_gradients && has_documents && turn % 2 == 0) all.push_back(far_apart(all.back()));
  }
  for (Example& large : grouped::with_large_blocks(generator, ranks, 2)) {
    large.what += ", a window";
    const RowMask mask{{0, large.layout.tokens()}, 9};
    all.push_back(under_mask(std::move(large), mask, {}, {0.5f, -1}));
  }
  return all;
}

/// "4 query heads, 2 key heads; keys 3 wide, values 5; starts {0, 12}, window 4, causal 1"
std::string sizes_in_words(const Played& played) {
  const Example& example = *played.example;
  const Tensor &q = example.inputs.at("q"), &k = example.inputs.at("k"), &v = example.inputs.at("v");
  return fmt::format("{} query heads, {} key heads; keys {} wide, values {}; {}", q.extent(0), k.extent(0),
                     k.extent(2), v.extent(2), arguments_in_words(example, {"starts", "window", "causal"}));
}

/// Every block makes all hops of a ring, and each rank computes those that it has to: no wrong count of hops.
bool went_all_the_way_round(const Example& example, const Outcome& outcome) {
  if (!log_reading::attended_to_all(example, outcome)) return false;
  const std::int64_t round =
      (example.ranks() - 1) * grouped::bytes_of_longest(grouped::bytes_of_tokens, example);
  return example.ranks() > 1 && std::ranges::all_of(outcome.reports, [&](const RankReport& report) {
           return checks::bytes_sent(report) == round;
         });
}

/// What both rings are held to.
Task held_to(Task task, CommunicationCheck traffic, int rooms) {
  task.communication_checks = grouped::ring_checks(std::move(traffic), grouped::bytes_of_tokens, rooms);
  task.communication_checks.push_back(checks::deadlocks(ring_mask::skipped_a_hop, "hop_by_own_need"));
  // Whose ranges show too much believes that blocks have to go on.
  task.follows_from = {{"never_stops", "documents_ignored"},
                       {"never_stops", "window_too_wide"},
                       {"never_stops", "start_by_lower_bound"}};
  return log_reading::looked_at(std::move(task), sizes_in_words, true);
}

}  // namespace

std::vector<Example> ring_examples(InputGenerator& generator, int ranks) {
  return rings_of_rows(generator, ranks, false);
}

std::vector<Example> backward_ring_examples(InputGenerator& generator, int ranks) {
  return grouped::with_gradients(generator, rings_of_rows(generator, ranks, true));
}

Task ring_task(std::string id, std::string function) {
  Task task = grouped::forward_task(std::move(id), std::move(function));
  task.examples = ring_examples;
  return held_to(std::move(task),
                 checks::named_if(sends_blocks_where_needed, went_all_the_way_round, "never_stops"),
                 grouped::rooms_of_forward);
}

Task ring_backward_task(std::string id, std::string function) {
  Task task = grouped::backward_task_with_sinks(std::move(id), std::move(function));
  task.examples = backward_ring_examples;
  return held_to(std::move(task), sends_gradients_where_needed, grouped::rooms_of_backward);
}

}  // namespace course::packed
