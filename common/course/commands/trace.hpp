#pragma once

#include <optional>
#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

struct TraceOptions {
  std::string lesson;        ///< "05" or "05.2"
  std::optional<int> ranks;  ///< without it, 4 where what is traced has ranks, else 1
  std::string out;           ///< a folder; empty: .course/trace/lesson05
  bool json = false;
};

/// Runs a lesson's code, the student's where it passes and else the solution's, with every MPI call recorded,
/// and draws what each rank did when: in the terminal, as timeline.svg and as trace.json for Perfetto.
///
/// A ring that the demo can call runs on generated tokens, with the student's block computation, whose
/// spans are the compute. Any other function, and a task that is named, is played on the largest input that
/// the judge draws; there compute is what the lesson is given to compute with, where its adapter marks that,
/// and else all that lies between MPI calls.
int trace(const Checkout& checkout, const TraceOptions& options);

}  // namespace course::program
