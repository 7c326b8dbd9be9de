#pragma once

#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

struct DrillOptions {
  std::string task;      ///< "05.2"; "05": any of its tasks; empty: any task of a passed lesson
  bool history = false;  ///< only print what is remembered
};

/// One task from an empty body, against a clock: writes a fresh file, checks it at each save until it passes,
/// and remembers the time. The student's own files are never touched. Throws Interrupted at Ctrl-C, which is
/// remembered as given up.
int drill(const Checkout& checkout, const DrillOptions& options);

}  // namespace course::program
