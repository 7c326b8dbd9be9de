#pragma once

#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

struct TestOptions {
  bool all = false;
  int soak = 0;        ///< with how many seeds, instead of the other tests; 0: not asked for
  std::string lesson;  ///< as choose_lesson understands it; empty: every lesson
  int jobs = 0;        ///< 0: as many as there are processors
};

/// The course's own tests: solutions and variants pass, skeletons and mutants fail as they should, the tools
/// work. Reads nothing that a student edits.
int test(const Checkout& checkout, const TestOptions& options);

}  // namespace course::program
