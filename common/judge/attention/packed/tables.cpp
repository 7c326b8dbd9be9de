#include <algorithm>
#include <set>

#include "judge/attention/forward.hpp"
#include "judge/attention/layouts/parts.hpp"
#include "judge/attention/packed/tasks.hpp"
#include "judge/exact_task.hpp"
#include "judge/refusal.hpp"
#include "reference/hops.hpp"
#include "ring/shards.hpp"

namespace course::packed {

namespace {

constexpr int worlds[] = {1, 2, 3, 4, 5, 8};

Task told(Task task, std::vector<std::string> arguments) {
  task.explain = telling_arguments(std::move(arguments));
  return task;
}

std::vector<double> starts_of(const RowMask& mask) {
  return {mask.starts.begin(), mask.starts.end()};
}

// Positions

Example row_example(std::string what, const RowMask& mask, int tokens, int ranks) {
  return {std::move(what),
          {},
          {{"tokens", {double(tokens)}}, {"ranks", {double(ranks)}}, {"starts", starts_of(mask)}}};
}

std::vector<Example> rows_of_documents(InputGenerator& generator, int) {
  std::vector<Example> all;
  for (const int ranks : worlds) {
    const int shard = generator.integer(4, 9);
    std::set<std::vector<Index>> before;  // a window changes nothing about who owns what
    for (const RowKind& kind : all_kinds(generator, ranks, shard)) {
      if (before.insert(kind.mask.starts).second)
        all.push_back(row_example(kind.documents, kind.mask, ranks * shard, ranks));
    }
  }
  all.push_back(row_example("a row of nothing but padding", {{0}}, 11, 2));
  all.push_back(row_example("no tokens", {{0, 0}}, 0, 3));
  const auto refused = [&](const char* what, std::vector<Index> starts, double number) {
    all.push_back(refusal::refusing(row_example(what, {std::move(starts)}, 24, 2), {number}));
  };
  refused("starts that begin with 5", {5, 12, 24}, 5);
  refused("starts that fall to 11", {0, 17, 11, 24}, 11);
  refused("starts that go on to 31 in a row of 24", {0, 12, 31}, 31);
  return all;
}

Answer positions(const Example& example) {
  const int tokens = static_cast<int>(integer(example, "tokens")),
            ranks = static_cast<int>(integer(example, "ranks"));
  layouts::Lists owned(ranks);
  if (!refusal::is_refused(example)) {
    const std::vector<double>& starts = example.arguments.at("starts");
    const Layout layout = Layout::documents({starts.begin(), starts.end()}, tokens, ranks);
    for (int rank = 0; rank < ranks; ++rank) owned[rank] = layout.positions(rank);
  }
  return {{"positions", layouts::padded(owned, tokens + 2)}};
}

// Any mask on any layout

Arguments of_documents(const Row& row) {
  Arguments arguments = layouts::arguments_of(row.layout);
  arguments["starts"] = starts_of(row.mask);
  return arguments;
}

Arguments of_masks(const Row& row) {
  Arguments arguments = layouts::arguments_of(row.layout);
  arguments.merge(arguments_of(row.mask));
  return arguments;
}

/// The rows of all worlds, by what a task is told of them: each once.
std::vector<Example> in_all_worlds(InputGenerator& generator, Arguments (*of)(const Row&)) {
  std::vector<Example> all;
  std::set<Arguments> before;
  for (const int ranks : worlds) {
    for (const Row& row : rows_on_layouts(generator, ranks)) {
      Arguments arguments = of(row);
      if (before.insert(arguments).second) all.push_back({row.what, {}, std::move(arguments)});
    }
  }
  return all;
}

std::vector<Example> sequences(InputGenerator& generator, int) {
  std::vector<Example> all = in_all_worlds(generator, of_documents);
  for (Example& example : all) {
    std::vector<double>& sequence = example.arguments["sequence"];
    for (int i = 0; i < layouts::layout_of(example).tokens(); ++i)
      sequence.push_back(generator.integer(0, 30000));
  }
  return all;
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

std::vector<Example> masks(InputGenerator& generator, int) {
  return in_all_worlds(generator, of_masks);
}

std::vector<Example> masks_and_refused(InputGenerator& generator, int) {
  std::vector<Example> all = in_all_worlds(generator, of_masks);
  const auto refused = [&](const char* what, Index window, bool causal) {
    const Row row{what, {{0, 12}, window, causal}, Layout({6, 6}), false};
    all.push_back(refusal::refusing({what, {}, of_masks(row)}, {double(window)}));
  };
  refused("a window of -3", -3, true);
  refused("a window of 4 that is not causal", 4, false);
  return all;
}

Answer ranges(const Example& example) {
  const Layout layout = layouts::layout_of(example);
  const reference::Mask mask = keys_seen(example);
  const int ranks = layout.ranks();
  const Shape shape{ranks, ranks, largest_shard(layout.shard_tokens())};
  Answer answer{{"first", Tensor64(shape)}, {"last", Tensor64(shape)}};
  for (int rank = 0; rank < ranks; ++rank) {
    for (int owner = 0; owner < ranks; ++owner) {
      const reference::Mask seen = mask.among(layout.positions(rank), layout.positions(owner));
      for (Index row = 0; row < layout.tokens(rank); ++row) {
        const auto [first, last] = seen.keys(row);
        if (first >= last) continue;
        answer["first"].heads()(rank, owner, row) = static_cast<double>(first);
        answer["last"].heads()(rank, owner, row) = static_cast<double>(last);
      }
    }
  }
  return answer;
}

Answer hops(const Example& example) {
  const Layout layout = layouts::layout_of(example);
  Tensor64 padded({layout.ranks() + 1}, -1);
  std::ranges::copy(reference::hops_needed(layout, keys_seen(example)), padded.data());
  return {{"hops", std::move(padded)}};
}

const std::vector<std::string> told_of_masks{"starts", "window", "causal", "shard_tokens", "positions"};

}  // namespace

Task positions_task(std::string id, std::string function) {
  Task task = exact_task(std::move(id), std::move(function), {{"positions", {"rank", "row"}}},
                         rows_of_documents, positions);
  return refusal::with_refusals(told(std::move(task), {"tokens", "starts", "ranks"}));
}

Task batch_task(std::string id, std::string function) {
  const std::vector<std::string> axes{"rank", "row"};
  Task task = exact_task(std::move(id), std::move(function),
                         {{"tokens", axes}, {"labels", axes}, {"position_ids", axes}}, sequences, batches);
  return told(std::move(task), {"starts", "shard_tokens", "positions"});
}

Task ranges_task(std::string id, std::string function) {
  const std::vector<std::string> axes{"query rank", "key rank", "query"};
  Task task = exact_task(std::move(id), std::move(function), {{"first", axes}, {"last", axes}},
                         masks_and_refused, ranges);
  return refusal::with_refusals(told(std::move(task), told_of_masks));
}

Task hops_task(std::string id, std::string function) {
  Task task = exact_task(std::move(id), std::move(function), {{"hops", {"block"}}}, masks, hops);
  return told(std::move(task), told_of_masks);
}

}  // namespace course::packed
