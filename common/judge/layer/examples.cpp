#include "judge/attention/exchange/examples.hpp"

#include <algorithm>
#include <numeric>

#include "judge/attention/forward.hpp"
#include "judge/attention/layouts/parts.hpp"
#include "judge/layer/layer.hpp"

namespace course::layers {

namespace {

/// Far from 1, and of both signs.
Tensor gains(InputGenerator& generator, Index hidden) {
  Tensor gain({hidden});
  for (float& value : gain.values())
    value = static_cast<float>(generator.uniform(0.3, 2.5) * (generator.integer(0, 2) == 0 ? -1 : 1));
  return gain;
}

Tensor matrix(InputGenerator& generator, Shape shape, Index inputs) {
  return generator.normal(std::move(shape), 1.0f / std::sqrt(static_cast<float>(inputs)));
}

}  // namespace

template <class T>
reference::LayerWeights<T> weights_of(const Example& example) {
  const auto of = [&](const char* name) { return input<T>(example, name); };
  return {of("norm1"), of("norm2"), of("wq"), of("wk"), of("wv"), of("wo"), of("w_up"), of("w_down")};
}
template reference::LayerWeights<float> weights_of(const Example&);
template reference::LayerWeights<double> weights_of(const Example&);

std::vector<Index> positions_of(const Example& example) {
  std::vector<Index> positions(example.inputs.at("x").extent(0));
  std::iota(positions.begin(), positions.end(), integer(example, "offset"));
  return positions;
}

std::vector<std::vector<Index>> rows_by_context(const Example& example) {
  std::vector<std::vector<Index>> contexts;
  auto next = example.arguments.at("positions").begin();
  for (const double tokens : example.arguments.at("shard_tokens")) {
    contexts.emplace_back(next, next + static_cast<Index>(tokens));
    next += static_cast<Index>(tokens);
  }
  return contexts;
}

Example layer_example(InputGenerator& generator, std::string what, const Layout& contexts, const Sizes& sizes,
                      Index chunk, Index tensor) {
  Example example{std::move(what), {}};
  const auto [hidden, heads, head_dim, ffn] = sizes;
  example.inputs = {{"x", generator.normal({contexts.tokens(), hidden}, 1.5f)},
                    {"norm1", gains(generator, hidden)},
                    {"norm2", gains(generator, hidden)},
                    {"wq", matrix(generator, {heads, head_dim, hidden}, 4 * hidden)},
                    {"wk", matrix(generator, {heads, head_dim, hidden}, 4 * hidden)},
                    {"wv", matrix(generator, {heads, head_dim, hidden}, hidden)},
                    {"wo", matrix(generator, {heads, head_dim, hidden}, heads * head_dim)},
                    {"w_up", matrix(generator, {ffn, hidden}, hidden)},
                    {"w_down", matrix(generator, {ffn, hidden}, ffn)}};
  example.arguments = layouts::arguments_of(contexts);
  example.arguments["chunk"] = {static_cast<double>(chunk)};
  example.arguments["offset"] = {0};
  example.arguments["filled"] = {0.5};
  example.layout = contexts;
  if (tensor > 1) example.layout = Layout(std::vector<int>(contexts.ranks() * tensor, 1));
  return example;
}

std::vector<Example> with_gradients(InputGenerator& generator, std::vector<Example> forward) {
  for (Example& example : forward) {
    const auto pass =
        reference::layer(weights_of<double>(example), input(example, "x"), positions_of(example));
    example.inputs["kept_o"] = cast<float>(pass.o);
    example.inputs["kept_lse"] = cast<float>(pass.lse);
    Tensor& dz = example.inputs["dz"] = generator.normal(example.inputs.at("x").shape());
    for (float& value : dz.matrix().row(dz.extent(0) / 2)) value *= 10.0f;
  }
  return forward;
}

Example loss_example(InputGenerator& generator, std::string what, const Layout& layout, Index hidden,
                     Index vocabulary, Index chunk,
                     const std::function<bool(int rank, Index row)>& has_label) {
  Example example{std::move(what), {}};
  Tensor labels({layout.tokens()}, -100.0f);
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    for (Index row = 0; row < layout.tokens(rank); ++row)
      if (has_label(rank, row))
        labels[layout.positions(rank)[row]] =
            static_cast<float>(generator.integer(0, static_cast<int>(vocabulary) - 1));
  }
  example.inputs = {{"z", generator.normal({layout.tokens(), hidden})},
                    {"labels", std::move(labels)},
                    {"w_vocabulary", generator.normal({vocabulary, hidden}, 0.7f)}};
  example.arguments = {{"chunk", {static_cast<double>(chunk)}}, {"filled", {0}}};
  example.layout = layout;
  return example;
}

}  // namespace course::layers
