#include <limits>
#include <numeric>

#include "judge/attention/forward.hpp"
#include "judge/checks/communication_checks.hpp"
#include "judge/layer/layer.hpp"
#include "judge/refusal.hpp"

namespace course::layers {

namespace {

Example norm_example(InputGenerator& generator, std::string what, Index n, Index hidden, Index head_dim,
                     double offset, double stride, double turns) {
  Tensor gain = generator.normal({hidden});
  for (float& value : gain.values()) value *= 2.0f;
  return {std::move(what),
          {{"x", generator.normal({n, hidden}, 1.5f)},
           {"gain", std::move(gain)},
           {"dy", generator.normal({n, hidden})},
           {"heads", generator.normal({2, n, head_dim})}},
          {{"offset", {offset}}, {"stride", {stride}}, {"turns", {turns}}, {"filled", {0.5}}}};
}

/// Rows in turn 1e-3 and 1e3 times what they are.
Example with_small_and_large_rows(Example example) {
  Tensor& x = example.inputs.at("x");
  for (Index row = 0; row < x.extent(0); ++row)
    for (float& value : x.matrix().row(row)) value *= row % 2 == 0 ? 1e-3f : 1e3f;
  return example;
}

std::vector<Example> norm_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](const char* what, auto... numbers) {
    all.push_back(norm_example(generator, what, numbers...));
  };
  add("one token, one pair", 1, 3, 2, 3.0, 1.0, 1.0);
  add("a few tokens", 5, generator.integer(4, 9), 8, 0.0, 1.0, 1.0);
  add("turned back, every third position", 4, 6, 6, 7.0, 3.0, -1.0);
  add("rows near 1e-3 and 1e3", 6, 8, 4, 100.0, 1.0, 1.0);
  all.back() = with_small_and_large_rows(std::move(all.back()));
  add("positions from 2^24", 4, 4, 16, 16777217.0, 1.0, 1.0);
  add("positions from 2^28, turned back", 3, 5, 8, 268435459.0, 977.0, -1.0);
  add("no tokens", 0, 4, 4, 0.0, 1.0, 1.0);
  add("head_dim 5", 2, 4, 5, 0.0, 1.0, 1.0);
  all.back() = refusal::refusing(std::move(all.back()), {5});
  return all;
}

template <class T>
Tensor64 plus_filled(const Example& example, const TensorOf<T>& x) {
  Tensor64 sum = cast<double>(x);
  for (double& value : sum.values()) value += example.arguments.at("filled").front();
  return sum;
}

template <class T>
Answer norm_answer(const Example& example) {
  const TensorOf<T> x = input<T>(example, "x"), gain = input<T>(example, "gain");
  const reference::NormGradients<T> gradients =
      reference::rms_norm_gradients(x, gain, input<T>(example, "dy"));
  TensorOf<T> d_gain(gain.shape());
  for (Index i = 0; i < x.size(); ++i) d_gain[i % gain.size()] += gradients.d_gain[i];
  const Index rows = x.extent(0);
  std::vector<Index> positions;
  for (Index row = 0; row < rows; ++row)
    positions.push_back(integer(example, "offset") + row * integer(example, "stride"));
  return {{"y", cast<double>(reference::rms_norm(x, gain))},
          {"dx", cast<double>(gradients.dx)},
          {"d_gain", plus_filled(example, d_gain)},
          {"rotated", cast<double>(reference::rotated(input<T>(example, "heads"), positions,
                                                      static_cast<int>(integer(example, "turns"))))}};
}

Example feed_forward_example(InputGenerator& generator, std::string what, Index n, Index hidden, Index ffn,
                             Index chunk) {
  const auto weights = [&] { return generator.normal({ffn, hidden}, 0.5f); };
  return {std::move(what),
          {{"b", generator.normal({n, hidden})},
           {"w_up", weights()},
           {"w_down", weights()},
           {"dz", generator.normal({n, hidden})}},
          {{"chunk", {static_cast<double>(chunk)}}, {"filled", {0.5}}}};
}

std::vector<Example> feed_forward_examples(InputGenerator& generator, int) {
  std::vector<Example> all;
  const auto add = [&](const char* what, auto... numbers) {
    all.push_back(feed_forward_example(generator, what, numbers...));
  };
  add("one token", 1, 3, 5, 1);
  add("chunks that come out even", 6, 4, 16, 3);
  add("a last chunk that is shorter", 7, 5, generator.integer(6, 12), 3);
  add("chunks of one token", 4, 3, 2, 1);
  add("a chunk that is longer than the shard", 5, 4, 7, 64);
  add("no tokens", 0, 4, 6, 2);
  add("an activation of four megabytes", 1024, 8, 1024, 8);
  all.back().large = true;
  add("a chunk of 0", 3, 3, 3, 0);
  all.back() = refusal::refusing(std::move(all.back()), {0});
  return all;
}

template <class T>
Answer feed_forward_answer(const Example& example) {
  const TensorOf<T> b = input<T>(example, "b"), w_up = input<T>(example, "w_up"),
                    w_down = input<T>(example, "w_down"), dz = input<T>(example, "dz");
  const reference::FeedForwardGradients<T> gradients = reference::feed_forward_gradients(b, w_up, w_down, dz);
  std::vector<Index> rows(b.extent(0));
  std::iota(rows.begin(), rows.end(), Index{0});
  return {{"z", plus_filled(example, reference::feed_forward(b, w_up, w_down))},
          {"db", cast<double>(gradients.db)},
          {"d_w_up", plus_filled(example, reference::outer_sum(gradients.du, b, rows))},
          {"d_w_down", plus_filled(example, reference::outer_sum(gradients.activated, dz, rows))}};
}

/// Outputs, two chunks of activations, and as much as a quarter of a megabyte beside.
std::int64_t memory_of_chunks(const Example& example) {
  if (!example.large) return std::numeric_limits<std::int64_t>::max();
  const Index ffn = example.inputs.at("w_up").extent(0), weights = example.inputs.at("w_up").size();
  return (2 * weights + 2 * example.inputs.at("b").size() + 2 * integer(example, "chunk") * ffn) *
             static_cast<std::int64_t>(sizeof(float)) +
         (1 << 18);
}

double sum_of_products(const Tensor64& a, const Tensor64& b) {
  return std::inner_product(a.values().begin(), a.values().end(), b.values().begin(), 0.0);
}

Tensor64 without_filled(const Example& example, Tensor64 x) {
  for (double& value : x.values()) value -= example.arguments.at("filled").front();
  return x;
}

}  // namespace

Task norm_task(std::string id, std::string function) {
  Task task{.id = std::move(id),
            .function = std::move(function),
            .outputs = {{"y", {"row", "col"}},
                        {"dx", {"row", "col"}},
                        {"d_gain", {"col"}},
                        {"rotated", {"head", "row", "col"}}},
            .examples = norm_examples,
            .expected = norm_answer<double>,
            .baseline = norm_answer<float>,
            .rounding = drawn_rounding(norm_answer<float>, norm_answer<double>)};
  task.explain = telling_arguments({"offset", "stride", "turns"});
  return refusal::with_refusals(std::move(task));
}

Task feed_forward_task(std::string id, std::string function) {
  Task task{.id = std::move(id),
            .function = std::move(function),
            .outputs = {{"z", {"row", "col"}},
                        {"db", {"row", "col"}},
                        {"d_w_up", {"row", "col"}},
                        {"d_w_down", {"row", "col"}}},
            .examples = feed_forward_examples,
            .expected = feed_forward_answer<double>,
            .baseline = feed_forward_answer<float>,
            .rounding = drawn_rounding(feed_forward_answer<float>, feed_forward_answer<double>)};
  task.communication_checks = {checks::uses_memory_at_most(memory_of_chunks, "activation_kept")};
  const auto named = [](const char* input, const char* output, bool is_filled) {
    return NamedGradient{input,
                         [=](const Example& example, const Answer& answer) {
                           const Tensor64& given = answer.at(output);
                           return is_filled ? without_filled(example, given) : given;
                         },
                         output};
  };
  task.answer_checks = {agrees_with_differences(
      {named("b", "db", false), named("w_up", "d_w_up", true), named("w_down", "d_w_down", true)},
      [](const Example&, const std::map<std::string, Tensor64>& x) {
        return sum_of_products(reference::feed_forward(x.at("b"), x.at("w_up"), x.at("w_down")), x.at("dz"));
      })};
  task.explain = telling_arguments({"chunk"});
  return refusal::with_refusals(std::move(task));
}

}  // namespace course::layers
