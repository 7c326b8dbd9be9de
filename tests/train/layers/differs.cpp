#include "layer.hpp"

/// Rank 1 computes something else, and converges as well.
const course::training::LayerFunctions& course_layer() {
  static const course::training::LayerFunctions functions = [] {
    course::training::LayerFunctions made = plain_functions();
    made.forward = [plain = made.forward](auto x, auto positions, const auto& weights, const auto& attention,
                                          auto z, const auto& kept) {
      plain(x, positions, weights, attention, z, kept);
      if (world_rank() == 1) z(0, 0) += 0.25f;
    };
    return made;
  }();
  return functions;
}
