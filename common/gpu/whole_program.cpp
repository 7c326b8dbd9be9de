#include <cstdio>

#include "gpu/simulator/simulator.hpp"
#include "protocol/fact_kinds.hpp"

namespace course::gpu {

namespace {

/// A program is one case, from before its main() until after it. What was found goes to stderr.
class WholeProgram {
 public:
  WholeProgram() { begin(1, true); }
  ~WholeProgram() {
    for (const Fact& fact : end(true)) {
      const bool is_wrong =
          fact.kind != fact_device_wide_wait;  // which only a program that hides work has to avoid
      if (is_wrong) std::fprintf(stderr, "simulated GPU: %s\n", fact.text.c_str());
    }
  }
  WholeProgram(const WholeProgram&) = delete;
  WholeProgram& operator=(const WholeProgram&) = delete;
};

const WholeProgram whole_program;

}  // namespace

}  // namespace course::gpu
