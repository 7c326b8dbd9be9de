#pragma once

#include <numeric>

#include "mistakes.hpp"

/// How inputs of the backward pass are put together.
namespace examples {

using namespace course;
using mistakes::input;
using mistakes::mask_of;

enum class LseGradient { Zero, Drawn };

/// Of either sign and never near 0.
inline Tensor lse_gradients(InputGenerator& generator, Shape shape) {
  Tensor made(std::move(shape));
  for (float& value : made.values()) {
    value = static_cast<float>((2 * generator.integer(0, 1) - 1) * generator.uniform(0.5, 2));
  }
  return made;
}

inline Example rows_example(std::string what, InputGenerator& generator, const Tensor& scores,
                            LseGradient lse_gradient) {
  const Index rows = scores.extent(0);
  Tensor d_lse = lse_gradient == LseGradient::Drawn ? lse_gradients(generator, {rows}) : Tensor({rows});
  return {std::move(what),
          {{"p", reference::softmax(scores).p},
           {"dp", generator.normal(scores.shape())},
           {"d_lse", std::move(d_lse)}}};
}

/// Sizes of blocks, and how many keys beyond that of its own position a query sees.
struct Blocks {
  Index block;
  Index query_block;       ///< task 2
  Index offset = 1 << 20;  ///< every key
  Blocks with_offset(Index other) const { return {block, query_block, other}; }
};

/// lse, o and delta as a forward pass in float64 gives them, rounded.
inline Example attention_example(std::string what, QKV qkv, Tensor d_o, Tensor d_lse, Blocks blocks) {
  Example example{std::move(what),
                  {{"q", std::move(qkv.q)},
                   {"k", std::move(qkv.k)},
                   {"v", std::move(qkv.v)},
                   {"d_o", std::move(d_o)},
                   {"d_lse", std::move(d_lse)}},
                  {{"block", {static_cast<double>(blocks.block)}},
                   {"query_block", {static_cast<double>(blocks.query_block)}},
                   {"offset", {static_cast<double>(blocks.offset)}}}};
  const reference::Attention<double> forward =
      reference::attention(input(example, "q"), input(example, "k"), input(example, "v"), mask_of(example));
  Tensor64 delta = input(example, "d_lse");
  const MatrixView<const double> o(forward.o.data(), delta.size(), forward.o.extent(2));
  const Tensor& d_o_made = example.inputs.at("d_o");
  const MatrixView<const float> d_o_rows(d_o_made.data(), o.rows(), o.cols());
  for (Index row = 0; row < delta.size(); ++row) {
    delta[row] =
        std::inner_product(o.row(row).begin(), o.row(row).end(), d_o_rows.row(row).begin(), -delta[row]);
  }
  example.inputs.emplace("o", cast<float>(forward.o));
  example.inputs.emplace("lse", cast<float>(forward.lse));
  example.inputs.emplace("delta", cast<float>(delta));
  return example;
}

/// A size of blocks of which the last is shorter by two entries at least.
inline Index ragged_block(InputGenerator& generator, Index tokens) {
  Index block = generator.integer(3, static_cast<int>(tokens / 3));
  while ((tokens + 1) % block < 2) ++block;
  return block;
}

}  // namespace examples
