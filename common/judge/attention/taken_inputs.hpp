#pragma once

#include <functional>
#include <string>
#include <vector>

#include "judge/task.hpp"

namespace course {

/// Which inputs of attention may be taken for one another.
struct Exchanges {
  std::vector<std::vector<const char*>> alike;  ///< names of inputs of one shape
  std::vector<const char*> by_head;             ///< of whose first axis each entry belongs to one head
};

/// Readings, which decide, by which one input is taken where another belongs, every head takes head 0's, or
/// both: what `answer` gives of an example that is changed so.
/// @param more is said behind it
std::vector<Reading> inputs_taken_wrongly(const Exchanges& exchanges,
                                          const std::function<Answer(const Example&)>& answer,
                                          const std::string& more = "");

}  // namespace course
