#pragma once

#include "judge/task.hpp"
#include "reference/training.hpp"

/// A model that trains over sequence shards, for the judges. Its weights are one row of numbers, in the order
/// of training::ModelView; its shape is arguments of that struct's names. Positions are arguments_of a layout
/// (judge/attention/layouts), and what every rank has whole is an output with the axis "rank", the same on
/// each to the last bit.
namespace course::training {

/// A function of text and the arguments context, seed, steps and positions that gives begin of each step, and
/// tokens and labels [step, row]. It refuses a text that is not longer than the context.
Task window_task(std::string id, std::string function);

/// A function of weights, gradients, m, v and decays and the arguments step, rate and AdamOptions' that gives
/// norm, steps_made, weights_after, m_after and v_after.
Task adamw_task(std::string id, std::string function);

/// A function of weights, tokens and labels that gives loss and gradients, on any layout of the tokens.
Task loss_task(std::string id, std::string function);

/// A function of text, weights, m and v and the arguments step, last and TrainOptions' that gives of each
/// step loss, norm, rate and held_out, -1 where that is not taken, and the state afterwards. It refuses a
/// text that is too short, and stops at a loss that is not finite.
Task run_task(std::string id, std::string function);

/// A function of weights, m and v and the arguments step and older that plays checkpoints on a disk in
/// memory, as player/training_run.hpp has it.
Task checkpoint_task(std::string id, std::string function);

/// What only a grade plays: any model on any layout.
std::vector<Example> hidden_losses(InputGenerator& generator, int ranks);
std::vector<Example> hidden_runs(InputGenerator& generator, int ranks);

// For these tasks themselves.

/// A model's shape as arguments, and out of them.
Arguments arguments_of(const ModelShape& shape);
ModelShape shape_of(const Example& example);

/// Options as arguments, and out of them.
Arguments arguments_of(const AdamOptions& options);
AdamOptions adam_options_of(const Example& example);

/// Bytes below `vocabulary` that follow each other as in a text of a few words.
Tensor words(InputGenerator& generator, Index bytes, Index vocabulary);

/// Weights without structure, none of them 0: every gradient is something.
Tensor any_weights(InputGenerator& generator, const ModelShape& shape);

/// A row of whole numbers.
std::vector<Index> whole_numbers(const Tensor& x);

/// Of every rank the same row.
Tensor64 on_each_rank(const Example& example, const std::vector<double>& row);

/// "in embedding, layer 0's wq", or "in every part of the model": the parts of a model in which a row of its
/// numbers is off by more than the tolerance, as a part of the part's own norm; empty where none is.
std::string wrong_parts(const ModelShape& shape, const Tensor64& answer, const Tensor64& expected,
                        double tolerance);

/// These outputs are the same on every rank, to the last bit.
AnswerCheck is_the_same_on_all_ranks(std::vector<std::string> outputs);

/// Of every rank's rings: what attention sends in so many forward and backward passes of all layers.
std::int64_t bytes_of_attention(const Example& example, Index forward, Index backward);

/// What everybody who uses MPI is held to, and that no rank sends more than this.
std::vector<CommunicationCheck> sends_at_most(std::function<std::int64_t(const Example&, int rank)> bytes);

}  // namespace course::training
