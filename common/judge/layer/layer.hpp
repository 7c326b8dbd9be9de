#pragma once

#include "judge/task.hpp"
#include "reference/layer.hpp"

/// A transformer layer and its loss over sequence shards, for the judges. Outputs that a function adds to
/// hold the argument filled before; chunks have the argument chunk.
namespace course::layers {

/// A function that gives y, dx, d_gain and rotated of x, gain, dy [n, hidden] and heads [heads, n, head_dim],
/// whose positions are offset + row * stride, turned by the argument turns. It refuses an odd head_dim.
Task norm_task(std::string id, std::string function);

/// A function that gives z, db, d_w_up and d_w_down of b, w_up, w_down and dz. It refuses a chunk of 0.
/// Mistake: activation_kept.
Task feed_forward_task(std::string id, std::string function);

/// The whole layer on any layout of x, whose positions the argument offset moves: z, o and lse.
Task forward_task(std::string id, std::string function);

/// Its gradients from dz and what a right forward pass keeps: dx, and of each rank its share of those of all
/// weights. Mistake: attention_again.
Task backward_task(std::string id, std::string function);

/// A function that gives loss, dz, d_w_vocabulary, summed and norm of z, labels and w_vocabulary: of each
/// rank, but dz, one. It refuses a chunk of 0 and a label that there is not.
Task loss_task(std::string id, std::string function);

/// Both passes on a grid of the argument tensor, whose rows have the same tokens: z and dx of each rank, and
/// its share of the gradients of what it has.
Task grid_task(std::string id, std::string function);

/// What only a grade plays: any sizes on any layout.
std::vector<Example> hidden_forward(InputGenerator& generator, int ranks);
std::vector<Example> hidden_backward(InputGenerator& generator, int ranks);
std::vector<Example> hidden_losses(InputGenerator& generator, int ranks);

// For these tasks themselves.

struct Sizes {
  Index hidden, heads, head_dim, ffn;
};

/// A layer's x and weights, whose scores are a few units wide, so that no key has all the weight: contexts of
/// it have these positions, each on `tensor` ranks of as many heads.
Example layer_example(InputGenerator& generator, std::string what, const Layout& contexts, const Sizes& sizes,
                      Index chunk, Index tensor = 1);

/// Each with dz, and with o and lse of a right forward pass.
std::vector<Example> with_gradients(InputGenerator& generator, std::vector<Example> forward);

/// Labels, z and w_vocabulary; has_label says which tokens have one.
Example loss_example(InputGenerator& generator, std::string what, const Layout& layout, Index hidden,
                     Index vocabulary, Index chunk,
                     const std::function<bool(int rank, Index row)>& has_label);

/// The rows that each context has.
std::vector<std::vector<Index>> rows_by_context(const Example& example);

template <class T>
reference::LayerWeights<T> weights_of(const Example& example);

/// offset, offset + 1 ...
std::vector<Index> positions_of(const Example& example);

/// What float32 rounds off right answers, as `baseline` shows it: the root mean square of what it is off by
/// on inputs that are themselves rounded, some draws of them. One draw may be right by luck.
std::function<Answer(const Example&)> drawn_rounding(Answer (*baseline)(const Example&),
                                                     Answer (*expected)(const Example&));

/// The loss as a number, of inputs that have moved.
using LossOf = std::function<double(const Example& example, const std::map<std::string, Tensor64>& inputs)>;

/// The gradient of the loss with respect to an input, from what was returned.
struct NamedGradient {
  std::string input;
  std::function<Tensor64(const Example& example, const Answer& answer)> gradient;
  std::string output;  ///< whose tolerance it has
};

/// A gradient disagrees with central differences of the loss along a direction of random signs, taken in
/// float64: of any function whose loss can be written down.
AnswerCheck agrees_with_differences(std::vector<NamedGradient> gradients, LossOf loss);

}  // namespace course::layers
