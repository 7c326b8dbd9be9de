#include <chrono>
#include <thread>

#include "layer.hpp"

/// A step takes longer than anybody waits.
const course::training::LayerFunctions& course_layer() {
  static const course::training::LayerFunctions functions = [] {
    course::training::LayerFunctions made = plain_functions();
    made.loss = [plain = made.loss](auto&&... arguments) {
      std::this_thread::sleep_for(std::chrono::seconds(50));
      return plain(arguments...);
    };
    return made;
  }();
  return functions;
}
