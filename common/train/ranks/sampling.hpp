#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "training/layer_functions.hpp"
#include "training/model.hpp"

namespace course::train {

/// How a model writes on.
struct Sampling {
  Index bytes = 400;
  double temperature = 0.8;
  Index memory = 256;  ///< the last so many bytes are looked at, and computed anew for each one
  std::uint64_t seed = 1;
};

/// What the model writes after `start`, alone on this rank. go_on is asked before each byte; where it says
/// no, that is all.
std::string sample(const training::ModelView<const float>& model, const training::LayerFunctions& functions,
                   const std::string& start, const Sampling& how, const std::function<bool()>& go_on);

}  // namespace course::train
