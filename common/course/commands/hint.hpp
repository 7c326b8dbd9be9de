#pragma once

#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

struct HintOptions {
  std::string lesson;  ///< "05", or with its task "05.2"
  std::string task;    ///< empty: the first that the last check failed, else the first that is not passed
  bool again = false;  ///< the last hint once more, not the next
};

/// Prints what the last check said of a task and the task's next hint.
int hint(const Checkout& checkout, const HintOptions& options);

}  // namespace course::program
