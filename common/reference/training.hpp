#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "reference/layer.hpp"
#include "training/run.hpp"

/// A training run on one rank, dense: what P ranks have to agree with, step by step. Weights are one tensor
/// of one axis, as training::ModelView names them.
namespace course::reference {

template <class T>
struct ModelLoss {
  T loss;                 ///< the mean over the tokens
  TensorOf<T> gradients;  ///< of all weights
};

/// The model on tokens that follow each other from position 0.
template <class T>
ModelLoss<T> model_loss(const training::ModelShape& shape, const TensorOf<T>& weights,
                        std::span<const Index> tokens, std::span<const Index> labels);

/// Its loss alone.
template <class T>
T loss_of_model(const training::ModelShape& shape, const TensorOf<T>& weights, std::span<const Index> tokens,
                std::span<const Index> labels);

template <class T>
struct RunState {
  Index step;
  TensorOf<T> weights, m, v;
};

/// One AdamW step on the state; returns the gradient's norm. Source: Loshchilov & Hutter 2019, algorithm 2,
/// whose rate and schedule are one here.
template <class T>
T adamw(RunState<T>& state, const TensorOf<T>& gradients, const training::AdamOptions& options, double rate,
        std::span<const std::uint8_t> decays);

template <class T>
struct RunStep {
  T loss, norm;
  double rate;
  std::optional<T> held_out;
};

/// Steps state.step .. last - 1.
template <class T>
std::vector<RunStep<T>> run(const training::TrainOptions& options, std::span<const std::uint8_t> text,
                            RunState<T>& state, Index last);

}  // namespace course::reference
