#include <tuple>

#include "layer.hpp"

/// Everybody receives first.
const course::training::LayerFunctions& course_layer() {
  static const course::training::LayerFunctions functions = [] {
    course::training::LayerFunctions made = plain_functions();
    made.loss = [](auto&&... arguments) {
      const MPI_Comm comm = std::get<5>(std::tie(arguments...));
      float number = 0;
      MPI_Recv(&number, 1, MPI_FLOAT, 1 - world_rank(), 5, comm, MPI_STATUS_IGNORE);
      return number;
    };
    return made;
  }();
  return functions;
}
