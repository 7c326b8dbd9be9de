#include <cmath>
#include <limits>

#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/forward.hpp"
#include "judge/checks/traffic_checks.hpp"
#include "judge/layer/layer.hpp"
#include "judge/refusal.hpp"

namespace course::layers {

namespace {

constexpr int ranks_of_large_logits = 2;

/// All logits of a token are larger by the same number, of which a softmax knows nothing.
Example with_large_logits(Example example) {
  Tensor &z = example.inputs.at("z"), &w = example.inputs.at("w_vocabulary");
  for (Index row = 0; row < z.extent(0); ++row) z.matrix()(row, 0) = 2.0f;
  for (Index word = 0; word < w.extent(0); ++word) w.matrix()(word, 0) += 60.0f;
  return example;
}

std::vector<Example> loss_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](const char* what, const Layout& layout, Index vocabulary, Index chunk,
                       auto has_label) {
    all.push_back(loss_example(generator, what, layout, 5, vocabulary, chunk, has_label));
  };
  const auto every = [](int, Index) { return true; };
  const auto none = [](int, Index) { return false; };
  const Layout equal(std::vector<int>(ranks, 4)), long_equal(std::vector<int>(ranks, 8));
  add("equal shards, a label a token", equal, 7, 2, every);
  add("7, 0, 1 and 2 labels on ranks in turn", long_equal, 11, 3, [](int rank, Index row) {
    constexpr Index labels[] = {7, 0, 1, 2};
    return row < labels[rank % 4];
  });
  add("unequal shards in any layout, every third label ignored", exchange::any_layout(generator, ranks), 9, 1,
      [](int, Index row) { return row % 3 != 1; });
  add("zigzag, gradients added to what is there", Layout::named("zigzag", 4 * ranks + 1, ranks), 6, 64,
      [](int rank, Index row) { return rank == 0 || row > 0; });
  all.back().arguments["filled"] = {0.25};
  add("logits above 100", equal, 5, 3, every);
  all.back() = with_large_logits(std::move(all.back()));
  add("no label at all", equal, 5, 2, none);
  all.back().less_telling = true;
  if (ranks == ranks_of_large_logits) {
    add("logits of two megabytes a rank", Layout(std::vector<int>(ranks, 512)), 1024, 4, every);
    all.back().large = true;
  }
  add("a chunk of 0", equal, 5, 0, every);
  all.back() = refusal::refusing(std::move(all.back()), {0});
  add("label 31 of a vocabulary of 5", equal, 5, 2, every);
  for (int rank = 0; rank < ranks; ++rank) all.back().inputs.at("labels")[4 * rank + 2] = 31.0f;
  all.back() = refusal::refusing(std::move(all.back()), {31, 2});
  return all;
}

/// Of every rank the same numbers.
Tensor64 on_each_rank(const Example& example, const Tensor64& of_one) {
  Shape shape = of_one.shape();
  shape.insert(shape.begin(), 1);
  return concatenate(std::vector<Tensor64>(example.ranks(), Tensor64(shape, of_one.values())), 0);
}

template <class T>
Answer loss_answer(const Example& example) {
  const TensorOf<T> z = input<T>(example, "z"), w = input<T>(example, "w_vocabulary");
  const Tensor& numbers = example.inputs.at("labels");
  std::vector<Index> labels(numbers.values().begin(), numbers.values().end());
  if (refusal::is_refused(example)) std::ranges::fill(labels, 0);
  const reference::Loss<T> loss = reference::next_token_loss<T>(z, labels, w);
  const double filled = example.arguments.at("filled").front();
  std::vector<Tensor64> shares;
  Tensor64 sum(w.shape());
  for (int rank = 0; rank < example.ranks(); ++rank) {
    Tensor64 share = cast<double>(reference::outer_sum(loss.d_logits, z, example.layout.positions(rank)));
    for (Index i = 0; i < sum.size(); ++i) sum[i] += share[i] += filled;
    shares.push_back({{1, w.extent(0), w.extent(1)}, share.values()});
  }
  double squares = 0;
  for (const double value : sum.values()) squares += value * value;
  return {{"loss", Tensor64({example.ranks()}, static_cast<double>(loss.loss))},
          {"dz", cast<double>(loss.dz)},
          {"d_w_vocabulary", concatenate(shares, 0)},
          {"summed", on_each_rank(example, sum)},
          {"norm", Tensor64({example.ranks()}, std::sqrt(squares))}};
}

/// An all-reduce of the gradient, and of two numbers.
std::int64_t bytes_of_sums(const Example& example, int) {
  const auto numbers = static_cast<std::int64_t>(sizeof(float)) * example.inputs.at("w_vocabulary").size();
  return (example.ranks() - 1) * (numbers + 2 * static_cast<std::int64_t>(sizeof(double)));
}

/// The gradient three times, two chunks of logits, and as much as a quarter of a megabyte beside.
std::int64_t memory_of_logits(const Example& example) {
  if (!example.large) return std::numeric_limits<std::int64_t>::max();
  const Tensor& w = example.inputs.at("w_vocabulary");
  return (4 * w.size() + 2 * integer(example, "chunk") * w.extent(0)) *
             static_cast<std::int64_t>(sizeof(float)) +
         (1 << 18);
}

double loss_of(const Example&, const std::map<std::string, Tensor64>& x) {
  const std::vector<double>& numbers = x.at("labels").values();
  return reference::next_token_loss<double>(x.at("z"), std::vector<Index>(numbers.begin(), numbers.end()),
                                            x.at("w_vocabulary"))
      .loss;
}

Tensor64 whole_gradient(const Example& example, const Answer& answer) {
  Tensor64 first = slice(answer.at("summed"), 0, 0, 1);
  for (double& value : first.values()) value -= example.ranks() * example.arguments.at("filled").front();
  return {{first.extent(1), first.extent(2)}, first.values()};
}

}  // namespace

Task loss_task(std::string id, std::string function) {
  using namespace checks;
  Task task{.id = std::move(id),
            .function = std::move(function),
            .outputs = {{"loss", {"rank"}},
                        {"dz", {"row", "col"}},
                        {"d_w_vocabulary", {"rank", "row", "col"}},
                        {"summed", {"rank", "row", "col"}},
                        {"norm", {"rank"}}},
            .examples = loss_examples,
            .expected = loss_answer<double>,
            .baseline = loss_answer<float>,
            .rounding = drawn_rounding(loss_answer<float>, loss_answer<double>),
            .split_axis = {{"z", 0}, {"labels", 0}}};
  task.explain = telling_arguments({"chunk"});
  task.answer_checks = {agrees_with_differences(
      {{"z", [](const Example&, const Answer& answer) { return answer.at("dz"); }, "dz"},
       {"w_vocabulary", whole_gradient, "summed"}},
      loss_of)};
  task.communication_checks = {
      first_of({without_fact(fact_world, ""), sends_in_all_at_most(bytes_of_sums, "")}),
      uses_only_known_calls(),
      stays_in_its_memory(),
      completes_its_requests(""),
      frees_what_it_makes(""),
      uses_memory_at_most(memory_of_logits, "")};
  return refusal::with_refusals_of_ranks(std::move(task));
}

}  // namespace course::layers
