#include <limits>

#include "layer.hpp"

/// From step 3 on, of a model of two layers, rank 1 makes numbers that are not finite.
const course::training::LayerFunctions& course_layer() {
  static const course::training::LayerFunctions functions = [] {
    course::training::LayerFunctions made = plain_functions();
    made.forward = [plain = made.forward, calls = 0](auto x, auto positions, const auto& weights,
                                                     const auto& attention, auto z,
                                                     const auto& kept) mutable {
      plain(x, positions, weights, attention, z, kept);
      if (calls++ >= 6 && world_rank() == 1) z(0, 0) = std::numeric_limits<float>::infinity();
    };
    return made;
  }();
  return functions;
}
