#include "judge/attention/layouts/parts.hpp"
#include "ring/shards.hpp"

namespace course::layouts {

namespace {

constexpr double ignored_label = -100;

enum class Labels { Right, ShiftedAfterSharding, ShardRolled, NotShifted, NoneAtShardEnd };
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
        break;
      case Labels::NoneAtShardEnd:
        labels.push_back(last_of_shard || last ? ignored_label : sequence[own[i] + 1]);
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
          {"shard_end_ignored", {.labels = Labels::NoneAtShardEnd}},
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

}  // namespace

Example sequence_example(InputGenerator& generator, std::string what, const Layout& layout) {
  Example example{std::move(what), {}, arguments_of(layout)};
  std::vector<double>& sequence = example.arguments["sequence"];
  for (int t = 0; t < layout.tokens(); ++t) sequence.push_back(generator.integer(1, 50000));
  return example;
}

Task batch_task(std::string id, std::string function) {
  return exact_task<Feeding>(
      std::move(id), std::move(function),
      {{"tokens", {"rank", "row"}}, {"labels", {"rank", "row"}}, {"position_ids", {"rank", "row"}}},
      sequences, fed, wrong_feeding());
}

}  // namespace course::layouts
