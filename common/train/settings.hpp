#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "training/run.hpp"

/// ./course train: a small model on somebody's own text, over MPI ranks.
namespace course::train {

/// What is trained, and how, as the options say it.
struct Settings {
  std::filesystem::path text = {};  ///< empty: the course's own pages
  int ranks = 2;
  Index context = 1024;  ///< tokens, which are bytes, that a step sees
  Index steps = 1000;    ///< in all: a run that goes on from step 400 makes 600
  Index hidden = 96, heads = 6, layers = 3;
  std::string layout = "zigzag";
  bool in_registers = false;  ///< with lesson 20's blocks
  std::uint64_t seed = 1;
  bool mine = false;  ///< the student's own lessons
  Index sample = 400;
  Index compare = 20;
};

/// Of --quick, in place of what no option says.
inline constexpr Index quick_steps = 300, quick_hidden = 64, quick_heads = 4, quick_layers = 2;

/// The model's: bytes, and a feed-forward four times as wide as the layer.
inline training::ModelShape shape_of(const Settings& settings) {
  return {.vocabulary = 256,
          .hidden = settings.hidden,
          .heads = settings.heads,
          .layers = settings.layers,
          .ffn = 4 * settings.hidden};
}

/// As the lesson takes it; nothing is evaluated.
inline training::TrainOptions options_of(const Settings& settings) {
  training::TrainOptions options;
  options.shape = shape_of(settings);
  options.context = settings.context;
  options.seed = settings.seed;
  options.steps = settings.steps;
  return options;
}

}  // namespace course::train
