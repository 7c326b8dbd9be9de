#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <numbers>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "training/model.hpp"

/// What a training run is told, what it holds, and what it reports.
namespace course::training {

struct AdamOptions {
  float beta1 = 0.9f, beta2 = 0.95f, epsilon = 1e-8f;
  float decay = 0.1f;
  float clip = 1.0f;  ///< the longest gradient that is stepped with; infinity: any
};

struct TrainOptions {
  ModelShape shape = {};
  Index context = 1024;  ///< tokens of a window, on all ranks together
  std::uint64_t seed = 1;
  Index steps = 1000;  ///< how long the schedule is
  Index warm_up = 20;  ///< so many steps lead to the highest rate
  float rate = 3e-3f;  ///< the highest
  AdamOptions adam = {};
  Index evaluate = 0;  ///< the held-out loss is taken every so many steps; 0: never
};

/// The rate of a step: it rises in equal parts to options.rate, which step warm_up - 1 has, times a cosine
/// that falls from 1 at step 0 to a tenth at step `steps`, and stays there.
inline float schedule(const TrainOptions& options, Index step) {
  const double warm =
      std::min(1.0, static_cast<double>(step + 1) / static_cast<double>(std::max<Index>(1, options.warm_up)));
  const double gone =
      std::min(1.0, static_cast<double>(step) / static_cast<double>(std::max<Index>(1, options.steps)));
  return static_cast<float>(options.rate * warm * (0.55 + 0.45 * std::cos(std::numbers::pi * gone)));
}

/// What goes on from step to step, the same on every rank. A checkpoint holds it.
struct TrainState {
  Index step = 0;              ///< how many steps have been made
  std::vector<float> weights;  ///< as ModelView names them
  std::vector<float> m, v;     ///< Adam's moments, of each weight
};

/// A run's beginning.
inline TrainState initial_state(const TrainOptions& options) {
  TrainState state{0, initial_weights(options.shape, options.seed), {}, {}};
  state.m.resize(state.weights.size(), 0.0f);
  state.v.resize(state.weights.size(), 0.0f);
  return state;
}

/// How many bytes of a text are trained on, from its beginning: nine tenths. What follows is held out.
inline Index training_bytes(Index bytes) {
  return bytes / 10 * 9 + bytes % 10 * 9 / 10;
}

/// What one step was like, the same on every rank.
struct StepReport {
  Index step;  ///< counted from 0
  float loss;  ///< of its window, before its weights changed
  float norm;  ///< of its gradient, before that was clipped
  float rate;
  std::optional<float> held_out;  ///< after it, where it was asked for
};
using Report = std::function<void(const StepReport&)>;

/// What has to be the same where a run goes on: by name a whole number.
using Facts = std::map<std::string, std::uint64_t>;

/// FNV-1a, 64 bits.
inline std::uint64_t hash_of(std::span<const std::uint8_t> text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const std::uint8_t byte : text) hash = (hash ^ byte) * 0x100000001b3u;
  return hash;
}

/// Of the shape, the windows and the text; not of ranks, on which no number depends.
inline Facts facts_of(const TrainOptions& options, std::span<const std::uint8_t> text) {
  const auto whole = [](Index number) { return static_cast<std::uint64_t>(number); };
  return {{"vocabulary", whole(options.shape.vocabulary)},
          {"hidden", whole(options.shape.hidden)},
          {"heads", whole(options.shape.heads)},
          {"layers", whole(options.shape.layers)},
          {"ffn", whole(options.shape.ffn)},
          {"context", whole(options.context)},
          {"seed", options.seed},
          {"text_bytes", text.size()},
          {"text_hash", hash_of(text)}};
}

}  // namespace course::training
