#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/linear_algebra.hpp"  // yours to use: gemm, dot, axpy, scal
#include "tensor/view.hpp"
#include "training/files.hpp"            // Files, the disk
#include "training/layer_functions.hpp"  // LayerFunctions: lesson 19's layer and loss, lesson 14's ring
#include "training/model.hpp"            // ModelShape, ModelView, Kept; yours to use: course::training::draw
#include "training/run.hpp"  // TrainOptions, TrainState; yours: schedule, training_bytes, facts_of

namespace lesson26 {

using course::Index;
using course::MatrixView;
using course::Positions;
using course::training::Facts;
using course::training::Files;
using course::training::LayerFunctions;
using course::training::ModelView;
using course::training::Report;
using course::training::TrainOptions;
using course::training::TrainState;

// Tasks 3 to 5 are called by all ranks of comm, one without tokens too, with the same arguments but for the
// batch. What is returned or written is the same on every rank, to the last bit. Nothing is kept between
// calls, and what a function allocates it frees.

/// What this rank feeds its model in one window: bytes 0 .. 255, row by row.
struct Batch {
  std::vector<Index> tokens, labels;
};

/// Task 1. Where a step's window begins in a text of so many bytes: draw(seed, step) mod (bytes - context),
/// the same on every rank and for any number of ranks. A window is context + 1 bytes long, so every token has
/// a label. Throws std::invalid_argument with both lengths unless bytes > context.
Index window_begin(Index bytes, Index context, std::uint64_t seed, Index step);

/// Task 1. Row i of the window that begins there: byte positions[i] of the window, and as its label the byte
/// after that in the text, whichever rank has it.
Batch batch_at(std::span<const std::uint8_t> text, Index begin, std::span<const Index> positions);

/// Task 2. One AdamW step on state's weights and moments, and on its count of steps; returns the Euclidean
/// norm of the gradient *before* clipping. g = gradient * min(1, clip / norm), the norm of all weights; m =
/// beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2; with t = state.step + 1, each weight changes by
/// -rate (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + decay weight), decay only where decays is
/// 1. Moments in float, norm and powers in double. No message. Source: Loshchilov and Hutter 2019
/// (arXiv 1711.05101), algorithm 2.
float adamw_step(TrainState& state, std::span<const float> gradients,
                 const course::training::AdamOptions& options, float rate,
                 std::span<const std::uint8_t> decays);

/// Task 3. The mean loss over the window, returned, and its gradients of all weights, summed over ranks:
/// written, not added to. positions are those of all ranks, batch is that of this one. Between the passes it
/// keeps of each layer x, o and lse: layers * n * (2 hidden + heads) numbers, n tokens on this rank. Bytes:
/// attention's, one all-reduce of all gradients, and the loss's two numbers.
float loss_and_gradients(const ModelView<const float>& model, const Batch& batch,
                         std::span<const Positions> positions, const LayerFunctions& functions,
                         std::span<float> gradients, MPI_Comm comm);

/// Task 4. The mean loss over what is held out of `text`, the bytes from training_bytes(text.size()) on, in
/// windows side by side: each begins where the one before it ends, at that one's last label, and what is left
/// over at the end is not looked at. Nothing where not one window fits. No backward pass: keeps of one layer
/// at a time, and sends attention's forward passes and the loss's numbers.
std::optional<float> held_out_loss(const ModelView<const float>& model, std::span<const std::uint8_t> text,
                                   std::span<const Positions> positions, const LayerFunctions& functions,
                                   MPI_Comm comm);

/// Task 4. Makes the steps state.step .. last - 1 on windows of the first training_bytes(text.size()) bytes,
/// in shards as functions.positions says, each with the rate schedule(options, step); after each, calls
/// report on every rank. held_out is set after every options.evaluate-th step, counted from the run's first.
/// What one step leaves to the next is state, and nothing else: a run in pieces is the run in one, to the
/// last bit. Throws as window_begin does, and std::runtime_error with the step where a loss is not finite,
/// before state changes.
void train(const TrainOptions& options, std::span<const std::uint8_t> text, TrainState& state, Index last,
           const LayerFunctions& functions, const Report& report, MPI_Comm comm);

/// Task 5. Writes weights.npy, m.npy, v.npy and state.json (`facts`, and "step") into
/// folder/step-NNNNNN.part, NNNNNN the step in at least six digits, and renames that to folder/step-NNNNNN;
/// then removes what else there is called step-. A run that dies meanwhile, anywhere, leaves a whole
/// checkpoint, if there was one. Where folder has step-NNNNNN already, that step is saved, and nothing is
/// written. Rank 0 alone uses `files`, and all wait for it: each throws std::runtime_error with rank 0's
/// words where that fails.
void save_checkpoint(const std::string& folder, const TrainState& state, const Facts& facts,
                     const Files& files, MPI_Comm comm);

/// Task 5. Reads the checkpoint of the highest step in folder, on any number of ranks. A name that ends in
/// .part is none. Rank 0 alone uses `files`; the others are sent what it has read. Each throws
/// std::runtime_error: with the folder where it has no checkpoint, with rank 0's words where a file cannot be
/// read, and with the first name of `facts` whose value is another in the checkpoint, and both values.
TrainState load_checkpoint(const std::string& folder, const Facts& facts, const Files& files, MPI_Comm comm);

}  // namespace lesson26
