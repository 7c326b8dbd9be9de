#include <algorithm>
#include <limits>
#include <numeric>

#include "judge/attention/exchange/examples.hpp"
#include "judge/attention/forward.hpp"
#include "judge/checks/traffic_checks.hpp"
#include "judge/layer/layer.hpp"
#include "judge/refusal.hpp"
#include "ring/shards.hpp"

namespace course::layers {

namespace {

constexpr std::int64_t bytes_of_number = sizeof(float);
constexpr const char* of_weights[] = {"norm1", "norm2", "wq", "wk", "wv", "wo", "w_up", "w_down"};

std::vector<Example> forward_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](const char* what, const Layout& layout, const Sizes& sizes, Index chunk,
                       double offset) {
    all.push_back(layer_example(generator, what, layout, sizes, chunk));
    all.back().arguments["offset"] = {offset};
  };
  const Layout equal(std::vector<int>(ranks, 4));
  add("equal shards", equal, {8, 2, 4, 12}, 2, 0);
  add("zigzag, chunks that do not come out even", Layout::named("zigzag", 4 * ranks + 3, ranks),
      {6, 3, 4, 10}, 3, 5);
  add("any layout, positions from 2^20", exchange::any_layout(generator, ranks), {9, 2, 6, 7}, 1, 1 << 20);
  add("stripes, rows near 1e-3 and 1e3", Layout::named("striped", 3 * ranks + 1, ranks), {5, 1, 2, 8}, 64, 1);
  Tensor& x = all.back().inputs.at("x");
  for (Index row = 0; row < x.extent(0); ++row)
    for (float& value : x.matrix().row(row)) value *= row % 2 == 0 ? 1e-3f : 1e3f;
  if (ranks == 2) {
    add("an activation of a megabyte a rank", Layout(std::vector<int>{192, 192}), {4, 1, 2, 1536}, 2, 0);
    all.back().large = true;
  }
  add("head_dim 3", equal, {4, 2, 3, 4}, 2, 0);
  all.back() = refusal::refusing(std::move(all.back()), {3});
  add("a chunk of 0", equal, {4, 2, 2, 4}, 0, 0);
  all.back() = refusal::refusing(std::move(all.back()), {0});
  return all;
}

std::vector<Example> backward_examples(InputGenerator& generator, int ranks) {
  return with_gradients(generator, forward_examples(generator, ranks));
}

template <class T>
reference::LayerPass<T> pass_of(const Example& example) {
  return reference::layer(weights_of<T>(example), input<T>(example, "x"), positions_of(example));
}

template <class T>
Answer forward_answer(const Example& example) {
  const reference::LayerPass<T> pass = pass_of<T>(example);
  return {{"z", cast<double>(pass.z)}, {"o", cast<double>(pass.o)}, {"lse", cast<double>(pass.lse)}};
}

Index tensor_of(const Example& example) {
  return example.arguments.contains("tensor") ? integer(example, "tensor") : 1;
}

/// The share of the heads or the rows that the index-th of so many tensor ranks has, as one rank's row.
template <class T>
Tensor64 row_of(const TensorOf<T>& x, Index index, Index of, double filled) {
  const Index count = x.extent(0) / of;
  const Tensor64 part = cast<double>(slice(x, 0, index * count, count));
  Shape shape = part.shape();
  shape.insert(shape.begin(), 1);
  std::vector<double> values = part.values();
  for (double& value : values) value += filled;
  return {shape, std::move(values)};
}

/// Of every rank, context by context, the gradients of what it has.
template <class T>
Answer gradients_by_rank(const Example& example, const reference::LayerGradients<T>& gradients) {
  std::map<std::string, std::vector<Tensor64>> rows;
  const Index tensor = tensor_of(example);
  const double filled = example.arguments.at("filled").front();
  for (const std::vector<Index>& context : rows_by_context(example)) {
    const reference::LayerWeights<T> share = gradients.share(context);
    for (Index index = 0; index < tensor; ++index) {
      const auto add = [&](const char* name, const TensorOf<T>& x, Index of) {
        rows[name].push_back(row_of(x, of == 1 ? 0 : index, of, filled));
      };
      add("d_norm1", share.norm1, 1);
      add("d_norm2", share.norm2, 1);
      add("d_wq", share.wq, tensor);
      add("d_wk", share.wk, tensor);
      add("d_wv", share.wv, tensor);
      add("d_wo", share.wo, tensor);
      add("d_w_up", share.w_up, tensor);
      add("d_w_down", share.w_down, tensor);
    }
  }
  Answer answer;
  for (const auto& [name, parts] : rows) answer[name] = concatenate(parts, 0);
  return answer;
}

template <class T>
reference::LayerGradients<T> gradients_of(const Example& example) {
  return {weights_of<T>(example), input<T>(example, "x"), positions_of(example), input<T>(example, "dz")};
}

template <class T>
Answer backward_answer(const Example& example) {
  const reference::LayerGradients<T> gradients = gradients_of<T>(example);
  Answer answer = gradients_by_rank(example, gradients);
  answer["dx"] = cast<double>(gradients.dx());
  return answer;
}

/// The rows of a tensor that each rank of a grid has, rank by rank.
template <class T>
Tensor64 by_rank(const Example& example, const TensorOf<T>& whole) {
  std::vector<Index> rows;
  for (const std::vector<Index>& context : rows_by_context(example))
    for (Index index = 0; index < tensor_of(example); ++index)
      rows.insert(rows.end(), context.begin(), context.end());
  return cast<double>(take(whole, 0, rows));
}

Layout layout_of_grid(const Example& example) {
  std::vector<int> counts;
  for (const std::vector<Index>& context : rows_by_context(example))
    counts.insert(counts.end(), static_cast<std::size_t>(tensor_of(example)),
                  static_cast<int>(std::ssize(context)));
  return {counts};
}

template <class T>
Answer grid_answer(const Example& example) {
  Answer answer = backward_answer<T>(example);
  const reference::LayerGradients<T> gradients = gradients_of<T>(example);
  answer["dx"] = by_rank(example, gradients.dx());
  answer["z"] = by_rank(example, pass_of<T>(example).z);
  return answer;
}

/// These, and each rank's gradients of weights.
std::vector<Output> and_weights(std::vector<Output> outputs) {
  for (const char* gain : {"d_norm1", "d_norm2"}) outputs.push_back({gain, {"rank", "col"}});
  for (const char* heads : {"d_wq", "d_wk", "d_wv", "d_wo"})
    outputs.push_back({heads, {"rank", "head", "row", "col"}});
  for (const char* rows : {"d_w_up", "d_w_down"}) outputs.push_back({rows, {"rank", "row", "col"}});
  return outputs;
}

/// Keys and values of the longest shard, of the heads of one rank.
std::int64_t bytes_of_hop(const Example& example) {
  std::size_t longest = 0;
  for (const std::vector<Index>& rows : rows_by_context(example)) longest = std::max(longest, rows.size());
  const Tensor& wk = example.inputs.at("wk");
  return 2 * wk.extent(0) / tensor_of(example) * wk.extent(1) * static_cast<Index>(longest) * bytes_of_number;
}

int contexts_of(const Example& example) {
  return static_cast<int>(example.arguments.at("shard_tokens").size());
}

std::int64_t bytes_of_forward(const Example& example, int) {
  return bytes_of_hop(example) * checks::forward_hops(contexts_of(example));
}

/// dK and dV go all round, K and V one hop less.
std::int64_t bytes_of_backward(const Example& example, int) {
  return bytes_of_hop(example) * checks::backward_hops(contexts_of(example));
}

/// Both passes' rings, and five tensors as large as x to every other rank of `tensor`.
std::int64_t bytes_on_grid(const Example& example, int rank) {
  const std::int64_t rows = std::ssize(rows_by_context(example)[rank / tensor_of(example)]);
  return bytes_of_forward(example, rank) + bytes_of_backward(example, rank) +
         5 * (tensor_of(example) - 1) * rows * example.inputs.at("x").extent(1) * bytes_of_number;
}

/// Far less than the activation of a shard, which has n * ffn numbers.
std::int64_t memory_of_layer(const Example& example) {
  if (!example.large) return std::numeric_limits<std::int64_t>::max();
  return largest_shard(example.layout.shard_tokens()) * example.inputs.at("w_up").extent(0) *
         bytes_of_number / 2;
}

/// A test whose tolerance is as large as what it compares passes anything.
constexpr double largest_tolerance = 1e-2;

Task with_checks(Task task, checks::Limit bytes, const char* sent_again) {
  using namespace checks;
  task.largest_tolerance = largest_tolerance;
  if (!task.explain) task.explain = telling_arguments({"shard_tokens", "offset", "chunk"});
  task.communication_checks = {
      first_of({without_fact(fact_world, ""), sends_in_all_at_most(std::move(bytes), sent_again)}),
      uses_only_known_calls(),
      stays_in_its_memory(),
      completes_its_requests(""),
      frees_what_it_makes(""),
      uses_memory_at_most(memory_of_layer, "activation_kept")};
  return refusal::with_refusals_of_ranks(std::move(task));
}

/// The sum over ranks of what each adds.
Tensor64 summed(const Example& example, const Tensor64& by_rank_given) {
  Shape shape = by_rank_given.shape();
  shape.erase(shape.begin());
  Tensor64 sum(shape);
  for (Index i = 0; i < by_rank_given.size(); ++i)
    sum[i % sum.size()] += by_rank_given[i] - example.arguments.at("filled").front();
  return sum;
}

double loss_of_layer(const Example& example, const std::map<std::string, Tensor64>& x) {
  const reference::LayerWeights<double> weights{x.at("norm1"), x.at("norm2"), x.at("wq"),   x.at("wk"),
                                                x.at("wv"),    x.at("wo"),    x.at("w_up"), x.at("w_down")};
  const Tensor64 z = reference::layer(weights, x.at("x"), positions_of(example)).z;
  return std::inner_product(z.values().begin(), z.values().end(), x.at("dz").values().begin(), 0.0);
}

AnswerCheck gradients_agree() {
  std::vector<NamedGradient> all{
      {"x", [](const Example&, const Answer& answer) { return answer.at("dx"); }, "dx"}};
  for (const std::string name : of_weights) {
    all.push_back({name,
                   [name](const Example& example, const Answer& answer) {
                     return summed(example, answer.at("d_" + name));
                   },
                   "d_" + name});
  }
  return agrees_with_differences(std::move(all), loss_of_layer);
}

std::vector<Example> grid_examples(InputGenerator& generator, int ranks) {
  std::vector<Example> all;
  const auto add = [&](const char* what, const Layout& contexts, const Sizes& sizes, Index chunk,
                       Index tensor) {
    all.push_back(layer_example(
        generator, std::to_string(tensor) + " x " + std::to_string(contexts.ranks()) + ", " + what, contexts,
        sizes, chunk, tensor));
    all.back().arguments["tensor"] = {static_cast<double>(tensor)};
    all.back().topology = Topology::grid(static_cast<int>(tensor));
  };
  for (int tensor = 1; tensor <= ranks; ++tensor) {
    if (ranks % tensor != 0) continue;
    const int contexts = ranks / tensor;
    add("two heads a rank, zigzag", Layout::named("zigzag", 4 * contexts + 1, contexts),
        {7, 2 * tensor, 4, 3 * tensor}, 2, tensor);
    add("a head a rank, any layout", exchange::any_layout(generator, contexts), {5, tensor, 2, 5 * tensor}, 4,
        tensor);
  }
  return with_gradients(generator, std::move(all));
}

}  // namespace

Task forward_task(std::string id, std::string function) {
  Task task{.id = std::move(id),
            .function = std::move(function),
            .outputs = {{"z", {"row", "col"}}, {"o", {"head", "row", "col"}, 1}, {"lse", {"head", "row"}, 1}},
            .examples = forward_examples,
            .expected = forward_answer<double>,
            .baseline = forward_answer<float>,
            .rounding = drawn_rounding(forward_answer<float>, forward_answer<double>),
            .split_axis = {{"x", 0}}};
  return with_checks(std::move(task), bytes_of_forward, "");
}

Task backward_task(std::string id, std::string function) {
  Task task{.id = std::move(id),
            .function = std::move(function),
            .outputs = and_weights({{"dx", {"row", "col"}}}),
            .examples = backward_examples,
            .expected = backward_answer<double>,
            .baseline = backward_answer<float>,
            .rounding = drawn_rounding(backward_answer<float>, backward_answer<double>),
            .answer_checks = {gradients_agree()},
            .split_axis = {{"x", 0}, {"dz", 0}, {"kept_o", 1}, {"kept_lse", 1}}};
  return with_checks(std::move(task), bytes_of_backward, "attention_again");
}

Task grid_task(std::string id, std::string function) {
  Task task{.id = std::move(id),
            .function = std::move(function),
            .outputs = and_weights({{.name = "z", .axes = {"row", "col"}, .layout = layout_of_grid},
                                    {.name = "dx", .axes = {"row", "col"}, .layout = layout_of_grid}}),
            .examples = grid_examples,
            .expected = grid_answer<double>,
            .baseline = grid_answer<float>,
            .rounding = drawn_rounding(grid_answer<float>, grid_answer<double>)};
  task.explain = telling_arguments({"shard_tokens", "offset", "chunk", "tensor"});
  return with_checks(std::move(task), bytes_on_grid, "");
}

}  // namespace course::layers
