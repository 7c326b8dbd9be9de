#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/attention/attended_blocks.hpp"
#include "judge/attention/forward.hpp"
#include "judge/attention/layouts/parts.hpp"
#include "judge/attention/packed.hpp"
#include "judge/attention/ring/ring_mask.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/checks/traffic_checks.hpp"
#include "judge/numbers/rounding.hpp"
#include "judge/refusal.hpp"
#include "protocol/block_log.hpp"
#include "reference/score_bias.hpp"
#include "ring/shards.hpp"

using namespace course;
using packed::RowMask;

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// Whole numbers: a right answer is exact.
Task exact_task(std::string id, std::string function, std::vector<Output> outputs,
                std::vector<Example> (*examples)(InputGenerator&, int), Answer (*right)(const Example&),
                std::vector<std::string> told) {
  return {.id = std::move(id),
          .function = std::move(function),
          .outputs = std::move(outputs),
          .examples = examples,
          .expected = right,
          .baseline = right,
          .explain = [told = std::move(told)](const Played& played) {
            return arguments_in_words(*played.example, told);
          }};
}

// Task 1

Example row_example(std::string what, const RowMask& mask, int tokens, int ranks) {
  Arguments arguments{{"tokens", {double(tokens)}}, {"ranks", {double(ranks)}}};
  arguments["starts"] = packed::arguments_of(mask).at("starts");
  return {std::move(what), {}, std::move(arguments)};
}

std::vector<Example> rows(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    const int shard = generator.integer(4, 9);
    for (const auto& [what, mask] : packed::all_kinds(generator, ranks, shard)) {
      // A window changes nothing about who owns what.
      const std::string documents = what.substr(0, what.find(", a window"));
      if (documents == what) all.push_back(row_example(documents, mask, ranks * shard, ranks));
    }
    all.push_back(row_example("one document", {{0, Index{ranks} * shard}}, ranks * shard, ranks));
  }
  all.push_back(row_example("a row of nothing but padding", {{0}}, 11, 2));
  all.push_back(row_example("no tokens", {{0, 0}}, 0, 3));
  const auto refused = [&](const char* what, std::vector<Index> starts, double number) {
    all.push_back(refusal::refusing(row_example(what, {std::move(starts)}, 24, 2), number));
  };
  refused("starts that begin with 5", {5, 12, 24}, 5);
  refused("starts that fall to 11", {0, 17, 11, 24}, 11);
  refused("starts that go on to 31 in a row of 24", {0, 12, 31}, 31);
  return all;
}

Answer positions(const Example& example) {
  const int tokens = static_cast<int>(integer(example, "tokens")),
            ranks = static_cast<int>(integer(example, "ranks"));
  if (refusal::is_refused(example))
    return refusal::with_refusal(example, {{"positions", Tensor64({ranks, tokens + 2})}});
  const std::vector<double>& starts = example.arguments.at("starts");
  const Layout layout = Layout::documents({starts.begin(), starts.end()}, tokens, ranks);
  layouts::Lists owned;
  for (int rank = 0; rank < ranks; ++rank) owned.push_back(layout.positions(rank));
  return refusal::with_refusal(example, {{"positions", layouts::padded(owned, tokens + 2)}});
}

Task positions_task() {
  return exact_task("1", "document_positions", {{"positions", {"rank", "row"}}, refusal::output()}, rows,
                    positions, {"tokens", "starts", "ranks"});
}

// Tasks 2 to 4: any mask on any layout

/// Masks of rows and layouts, each mask on two of them.
struct Packed {
  std::string what;
  RowMask mask;
  Layout layout;
  bool for_rings = true;  ///< rings, which take long, are played on one layout of each mask
};

std::vector<Packed> packed_rows(InputGenerator& generator, int ranks) {
  std::vector<Packed> all;
  // Of few tokens all documents are short, and where a query sees one key gradients cancel.
  const int shard = generator.integer(4, 7) + 8 / ranks - 1, tokens = ranks * shard;
  std::vector<std::pair<std::string, Layout>> others = layouts::all_kinds(generator, tokens, ranks);
  others.erase(others.begin());  // contiguous
  std::size_t turn = 0;
  for (const auto& [what, mask] : packed::all_kinds(generator, ranks, shard)) {
    // Where a shard's edge matters: windows, documents that end at one, a shard of nothing but padding.
    const bool is_contiguous = turn == 0 || turn % 2 == 1 || turn == 8;
    all.push_back({what + ", contiguous", mask, Layout(std::vector<int>(ranks, shard)), is_contiguous});
    const auto& [kind, layout] = others[turn++ % others.size()];
    all.push_back({what + ", " + kind, mask, layout, !is_contiguous});
    if (turn % 3 == 0)
      all.push_back(
          {what + ", each document in zigzag", mask, Layout::documents(mask.starts, tokens, ranks)});
  }
  std::vector<int> lengths = unequal_shards(generator, ranks);
  lengths.back() += std::max(0, 8 - total_tokens(lengths));
  if (ranks > 1) lengths[1] = 0;
  const Layout unequal(lengths);
  const Index all_tokens = unequal.tokens();
  all.push_back(
      {"unequal shards", {{0, all_tokens / 3, all_tokens}, std::max<Index>(1, all_tokens / 2)}, unequal});
  return all;
}

std::vector<Example> in_all_worlds(InputGenerator& generator,
                                   Example (*make)(InputGenerator&, const Packed&)) {
  std::vector<Example> all;
  for (const int ranks : {1, 2, 3, 4, 5, 8}) {
    for (const Packed& row : packed_rows(generator, ranks)) all.push_back(make(generator, row));
  }
  return all;
}

Arguments arguments_of(const Packed& row) {
  Arguments arguments = layouts::arguments_of(row.layout);
  arguments.merge(packed::arguments_of(row.mask));
  return arguments;
}

Example batch_example(InputGenerator& generator, const Packed& row) {
  Example example{row.what, {}, arguments_of(row)};
  std::vector<double>& sequence = example.arguments["sequence"];
  for (int i = 0; i < row.layout.tokens(); ++i) sequence.push_back(generator.integer(0, 30000));
  return example;
}

Answer batches(const Example& example) {
  const Layout layout = layouts::layout_of(example);
  const std::vector<double>&sequence = example.arguments.at("sequence"),
        &starts = example.arguments.at("starts");
  std::vector<std::vector<double>> tokens(layout.ranks()), labels(layout.ranks()), ids(layout.ranks());
  for (std::size_t document = 0; document < starts.size(); ++document) {
    const bool is_padding = document + 1 == starts.size();
    const Index first = static_cast<Index>(starts[document]),
                last = is_padding ? layout.tokens() : static_cast<Index>(starts[document + 1]);
    for (Index position = first; position < last; ++position) {
      const int rank = layout.place(position).rank;
      tokens[rank].push_back(sequence[position]);
      labels[rank].push_back(is_padding || position + 1 == last ? -100 : sequence[position + 1]);
      ids[rank].push_back(static_cast<double>(position - first));
    }
  }
  const Index longest = largest_shard(layout.shard_tokens());
  return {{"tokens", layouts::padded(tokens, longest)},
          {"labels", layouts::padded(labels, longest)},
          {"position_ids", layouts::padded(ids, longest)}};
}

Task batch_task() {
  const std::vector<std::string> axes{"rank", "row"};
  return exact_task("2", "packed_batch", {{"tokens", axes}, {"labels", axes}, {"position_ids", axes}},
                    [](InputGenerator& generator, int) { return in_all_worlds(generator, batch_example); },
                    batches, {"starts", "shard_tokens", "positions"});
}

Example mask_example(InputGenerator&, const Packed& row) {
  return {row.what, {}, arguments_of(row)};
}

std::vector<Example> masks(InputGenerator& generator, int) {
  return in_all_worlds(generator, mask_example);
}

std::vector<Example> masks_and_refused(InputGenerator& generator, int) {
  std::vector<Example> all = in_all_worlds(generator, mask_example);
  const auto refused = [&](const char* what, Index window, bool causal) {
    all.push_back(refusal::refusing({what, {}, arguments_of({"", {{0, 12}, window, causal}, Layout({6, 6})})},
                                    double(window)));
  };
  refused("a window of -3", -3, true);
  refused("a window of 4 that is not causal", 4, false);
  return all;
}

Answer ranges(const Example& example) {
  const Layout layout = layouts::layout_of(example);
  const int ranks = layout.ranks();
  const Shape shape{ranks, ranks, largest_shard(layout.shard_tokens())};
  Answer answer{{"first", Tensor64(shape)}, {"last", Tensor64(shape)}};
  if (refusal::is_refused(example)) return refusal::with_refusal(example, answer);
  for (int rank = 0; rank < ranks; ++rank) {
    for (int owner = 0; owner < ranks; ++owner) {
      const reference::Mask mask = keys_seen(example).among(layout.positions(rank), layout.positions(owner));
      for (Index row = 0; row < layout.tokens(rank); ++row) {
        const auto [first, last] = mask.keys(row);
        if (first >= last) continue;
        answer["first"].heads()(rank, owner, row) = static_cast<double>(first);
        answer["last"].heads()(rank, owner, row) = static_cast<double>(last);
      }
    }
  }
  return refusal::with_refusal(example, answer);
}

const std::vector<std::string> told_of_masks{"starts", "window", "causal", "shard_tokens", "positions"};

Task ranges_task() {
  const std::vector<std::string> axes{"query rank", "key rank", "query"};
  return exact_task("3", "key_ranges", {{"first", axes}, {"last", axes}, refusal::output()},
                    masks_and_refused, ranges, told_of_masks);
}

Answer hops(const Example& example) {
  Example in_ring = example;
  in_ring.layout = layouts::layout_of(example);
  const std::vector<int> needed = packed::hops_needed(in_ring);
  Tensor64 padded({in_ring.ranks() + 1}, -1);
  std::ranges::copy(needed, padded.data());
  return {{"hops", std::move(padded)}};
}

Task hops_task() {
  Task task = exact_task("4", "hops_needed", {{"hops", {"block"}}}, masks, hops, told_of_masks);
  task.uses = "3";
  return task;
}

// Tasks 5 to 7: what joins the softmax

std::vector<Example> numbers_of_heads(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](std::string what, std::vector<double> heads) {
    all.push_back({std::move(what), {}, {{"heads", std::move(heads)}}});
  };
  add("8 heads", {8});
  add("3 heads", {3});
  add("12 heads", {12});
  add("1, 2, 16 and 64 heads", {1, 2, 16, 64});
  add("6, 5, 7 and 40 heads", {6, 5, 7, 40});
  add("any number of heads", {double(generator.integer(9, 127)), double(generator.integer(3, 60))});
  return all;
}

template <class Of>
Answer of_slopes(const Example& example, Of of) {
  std::vector<double> all;
  for (const double heads : example.arguments.at("heads"))
    for (const double slope : reference::alibi_slopes(static_cast<Index>(heads))) all.push_back(of(slope));
  const Index count = std::ssize(all);
  return {{"slopes", Tensor64({count}, std::move(all))}};
}

Task slopes_task() {
  Task task = exact_task(
      "5", "alibi_slopes", {{"slopes", {"head"}}}, numbers_of_heads,
      [](const Example& example) { return of_slopes(example, [](double slope) { return slope; }); },
      {"heads"});
  // An exponent that is rounded, and exp2.
  task.rounding = [](const Example& example) {
    return of_slopes(example, [](double slope) { return std::sqrt(rounding::of(9 * slope)); });
  };
  return task;
}

/// A state that has seen keys with scores near `level`, in every other query near `other`, since what is
/// left of o beside a sink of 100 is less than float32 holds; in every third query none, with any m.
Example state_example(InputGenerator& generator, std::string what, std::vector<float> sinks, float level,
                      float other) {
  const Index heads = std::ssize(sinks), queries = 7, width = 4;
  Example example{std::move(what),
                  {{"m", generator.normal({heads, queries})},
                   {"l", Tensor({heads, queries})},
                   {"o", generator.normal({heads, queries, width})},
                   {"sinks", Tensor({heads}, std::move(sinks))}}};
  Tensor &m = example.inputs["m"], &l = example.inputs["l"], &o = example.inputs["o"];
  for (Index row = 0; row < m.size(); ++row) {
    m[row] += row % 2 == 0 ? level : other;
    l[row] = static_cast<float>(generator.uniform(1, 9));
    if (row % 3 == 1) {
      l[row] = 0;
      m[row] =
          row % 2 == 0 ? -std::numeric_limits<float>::infinity() : 200.0f * static_cast<float>(row % 5 - 2);
      std::fill_n(o.data() + row * width, width, 0.0f);
    }
    for (Index i = row * width; i < (row + 1) * width; ++i) o[i] *= l[row];
  }
  return example;
}

std::vector<Example> states(InputGenerator& generator, int) {
  return {
      state_example(generator, "sinks beside the scores", {0.5f, -1.5f, 2}, 0, 0),
      state_example(generator, "sinks far below the scores", {-20, -60, -150}, 0, 0),
      state_example(generator, "a sink of 100", {100, 0.5f}, 0, 98),
      state_example(generator, "scores near -150 and 0", {0.5f, -150}, -150, 0),
      state_example(generator, "scores near 150", {0.5f, 152}, 150, 150),
      state_example(generator, "one head, any sink", {static_cast<float>(generator.uniform(-3, 3))}, 0, 0)};
}

/// Of each query its weights: of all keys before, and of the sink.
rounding::Weights joined(const Example& example, Index row) {
  const Tensor &m = example.inputs.at("m"), &l = example.inputs.at("l"), &sinks = example.inputs.at("sinks");
  const double before = l[row] > 0 ? m[row] + std::log(double{l[row]}) : minus_infinity;
  return rounding::weights(std::vector<double>{before, sinks[row / m.extent(1)]}, {}, 1);
}

/// o and lse from the weights, or what is rounded off them.
Answer of_weights(const Example& example, bool rounded) {
  const Tensor64 o = input(example, "o"), l = input(example, "l");
  Answer answer{{"o", Tensor64(o.shape())}, {"lse", Tensor64(l.shape())}};
  const Index width = o.extent(2);
  for (Index row = 0; row < l.size(); ++row) {
    const rounding::Weights weights = joined(example, row);
    answer["lse"][row] = rounded ? std::sqrt(weights.of_lse) : weights.lse;
    for (Index i = row * width; i < (row + 1) * width && l[row] > 0; ++i) {
      const double value = weights.p[0] * o[i] / l[row];
      // A factor for what was before, and a division.
      answer["o"][i] = rounded
                           ? std::sqrt((weights.own[0] + weights.own[1] + weights.common) * value * value +
                                       2 * rounding::of(value))
                           : value;
    }
  }
  return answer;
}

Task join_task() {
  const auto right = [](const Example& example) { return of_weights(example, false); };
  return {.id = "6",
          .function = "join_sinks",
          .outputs = {{.name = "o", .axes = {"head", "query", "col"}, .called = "o / l"},
                      {.name = "lse", .axes = {"head", "query"}, .called = "m + log l"}},
          .examples = states,
          .expected = right,
          .baseline = right,
          .rounding = [](const Example& example) { return of_weights(example, true); }};
}

/// Rows whose lse has the sink in it.
std::vector<Example> rows_with_sinks(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](const char* what, std::vector<float> sinks, float level) {
    const Index heads = std::ssize(sinks), queries = generator.integer(5, 9);
    Example example{what,
                    {{"sinks", Tensor({heads}, std::move(sinks))},
                     {"lse", generator.normal({heads, queries})},
                     {"delta", generator.normal({heads, queries})}}};
    for (Index row = 0; row < example.inputs["lse"].size(); ++row) {
      const double sink = example.inputs["sinks"][row / queries], lse = level + example.inputs["lse"][row];
      example.inputs["lse"][row] =
          static_cast<float>(std::max(sink, lse) + std::log1p(std::exp(-std::abs(sink - lse))));
      example.inputs["delta"][row] += row / queries % 2 == 0 ? 1 : -1;  // a sign of its own for each head
    }
    all.push_back(std::move(example));
  };
  add("sinks beside the scores", {0.5f, -1.5f, 2}, 0);
  add("sinks far below the scores", {-20, -3}, 0);
  add("a sink of 100, and one of -0.5", {100, -0.5f}, 0);
  add("scores near -150", {-149, 0.5f}, -150);
  add("one head", {1.25f}, 1);
  return all;
}

Task sink_task() {
  const auto gradients = [](std::vector<double> grouped::SinkGradients::*which) {
    return [which](const Example& example) -> Answer {
      const Tensor64 lse = input(example, "lse");
      auto all = grouped::sink_gradients(input(example, "sinks").values(), lse, input(example, "delta"),
                                         Tensor64(lse.shape()));
      return {{"d_sinks", Tensor64({lse.extent(0)}, std::move(all.*which))}};
    };
  };
  return {.id = "7",
          .function = "sink_gradients",
          .outputs = {{"d_sinks", {"head"}}},
          .examples = rows_with_sinks,
          .expected = gradients(&grouped::SinkGradients::values),
          .baseline = gradients(&grouped::SinkGradients::values),
          .rounding = gradients(&grouped::SinkGradients::rounded)};
}

// Rings, tasks 8 and 9

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

/// Where one key has all the weight, gradients cancel to 0: for gradients, a window has a sink beside its one
/// key, and no sink is large.
std::vector<Example> rings(InputGenerator& generator, int ranks, bool for_gradients) {
  const std::vector<grouped::Sizes> sizes{
      {4, 2, 4, 4}, {6, 2, 3, 5}, {3, 3, 5, 2}, {12, 3, 2, 3}, {8, 1, 4, 4}};
  std::vector<Example> all;
  for (const Packed& row : packed_rows(generator, ranks)) {
    if (!row.for_rings) continue;
    const std::size_t turn = all.size();
    const grouped::Sizes& of_heads = sizes[turn % sizes.size()];
    const int heads = static_cast<int>(of_heads.heads);
    const bool one_key = for_gradients && row.mask.window == 1;
    std::vector<float> sinks;
    if (one_key || turn % 4 != 2) {
      for (int head = 0; head < heads; ++head) sinks.push_back(static_cast<float>(generator.uniform(-1, 1)));
      if (!one_key) sinks[0] = turn % 2 == 0 ? 0.5f : -20;
      if (!one_key) sinks[1] = for_gradients ? 3 : 60;
    }
    const std::vector<float> slopes = turn % 3 == 1 ? slopes_of(heads) : std::vector<float>();
    std::string what = row.what + (sinks.empty() ? ", no sinks" : "") + (slopes.empty() ? "" : ", ALiBi");
    all.push_back(
        packed::make_example(generator, std::move(what), row.layout, of_heads, row.mask, slopes, sinks));
    const bool has_documents = row.mask.starts.size() > 3 && row.mask.starts[1] > 1;
    if (!for_gradients && has_documents && turn % 2 == 0) all.push_back(far_apart(all.back()));
  }
  return all;
}

/// The largest of the registry's worlds.
constexpr int ranks_of_large_blocks = 8;

/// So large that memory is seen: keys by far the most of it, and a state that is small beside them.
std::vector<Example> with_large_blocks(InputGenerator& generator, int ranks) {
  if (ranks != ranks_of_large_blocks) return {};
  Example example = packed::make_example(generator, "blocks of a quarter of a megabyte, a window",
                                         Layout(std::vector<int>(ranks, 4)), {2, 1, 16384, 16},
                                         {{0, 4 * ranks}, 9}, {}, {0.5f, -1});
  example.large = true;
  return {std::move(example)};
}

std::vector<Example> forward_rings(InputGenerator& generator, int ranks) {
  std::vector<Example> all = rings(generator, ranks, false);
  std::ranges::move(with_large_blocks(generator, ranks), std::back_inserter(all));
  return all;
}

std::vector<Example> backward_rings(InputGenerator& generator, int ranks) {
  std::vector<Example> forward = rings(generator, ranks, true), all;
  std::ranges::move(with_large_blocks(generator, ranks), std::back_inserter(forward));
  for (Example& example : forward) all.push_back(grouped::with_gradient(generator, std::move(example)));
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
      (example.ranks() - 1) * grouped::bytes_of_tokens(example, largest_shard(example.layout.shard_tokens()));
  return example.ranks() > 1 && std::ranges::all_of(outcome.reports, [&](const RankReport& report) {
           return checks::bytes_sent(report) == round;
         });
}

/// What both rings are held to.
std::vector<CommunicationCheck> ring_checks(CommunicationCheck sends_what_is_needed, std::int64_t rooms) {
  using namespace checks;
  const auto memory = [rooms](const Example& example) {
    const std::int64_t block =
        grouped::bytes_of_tokens(example, largest_shard(example.layout.shard_tokens()));
    const Tensor& q = example.inputs.at("q");
    const std::int64_t dq = q.size() / example.ranks() * Index{sizeof(float)};
    return example.large ? rooms * block + dq : std::numeric_limits<std::int64_t>::max();
  };
  return {
      first_of({without_fact(fact_world, ""), sends_nothing_to_itself(""), std::move(sends_what_is_needed)}),
      deadlocks(ring_mask::skipped_a_hop, "hop_by_own_need"),
      uses_only_known_calls(),
      stays_in_its_memory(),
      completes_its_requests(""),
      frees_what_it_makes(""),
      passes_tensors_by_messages(""),
      uses_memory_at_most(memory, ""),
      tells_null_peers};
}

/// The blocks that a ring gives to accumulate are looked at: whose they are, and of which a query sees keys.
Task with_blocks_looked_at(Task task) {
  task.uses = "4";
  // Whose ranges show too much believes that blocks have to go on.
  task.follows_from = {{"never_stops", "documents_ignored"},
                       {"never_stops", "window_too_wide"},
                       {"never_stops", "start_by_lower_bound"}};
  task.logs = {{block_log::output, block_log::columns}, {block_log::scores_output, 1}};
  task.communication_checks.push_back(log_reading::names_the_owners);
  task.answer_checks = {log_reading::gives_each_block_once, log_reading::gives_no_empty_block};
  task.explain = log_reading::explaining(sizes_in_words);
  return task;
}

Task forward_task() {
  using namespace checks;
  Task task = grouped::forward_task("8", "packed_ring_attention");
  task.examples = forward_rings;
  task.communication_checks = ring_checks(
      named_if(sends_only_what_is_needed(packed::needed_forward, ""), went_all_the_way_round, "never_stops"),
      2 * (2 + 1));
  return with_blocks_looked_at(std::move(task));
}

Task backward_task() {
  using namespace checks;
  Task task = grouped::backward_task_with_sinks("9", "packed_ring_backward");
  task.examples = backward_rings;
  task.communication_checks = ring_checks(
      all_of({sends_only_what_is_needed(packed::needed_backward, ""), packed::sends_gradients_home_once}),
      2 * (2 * 2 + 1));
  return with_blocks_looked_at(std::move(task));
}

}  // namespace

LessonJudge course::lesson_judge() {
  return {"16",
          {positions_task(), batch_task(), ranges_task(), hops_task(), slopes_task(), join_task(),
           sink_task(), forward_task(), backward_task()}};
}
