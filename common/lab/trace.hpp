#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "timed/timed.hpp"

namespace course::lab {

struct TraceOptions {
  std::string lesson;         ///< "05" or "05.2"
  std::optional<int> ranks;   ///< without it, 4 where what is traced has ranks, else 1
  bool mine = false;          ///< the student's code, whether or not it passes
  std::string block;          ///< the lesson whose blocks a ring is given; empty: lesson 04
  std::filesystem::path out;  ///< a folder; empty: .course/trace/lesson05
  bool json = false;
};

/// Runs a lesson's code, the student's where it passes or is asked for and else the solution's, with every
/// MPI call recorded, and draws what each rank did when: in the terminal, as timeline.svg and as trace.json
/// for Perfetto.
///
/// A forward ring, or an exchange in place of one, runs on generated tokens, with the student's block
/// computation, whose spans are the compute. Any other function, and a task that is named, is played on the
/// largest input that the judge draws; there compute is what the lesson is given to compute with, where its
/// adapter marks that, and else all that lies between MPI calls. Of a lesson whose ranks have a GPU each,
/// what is drawn is what the streams of the simulated GPUs did, in a model's time.
int trace(const program::Checkout& checkout, const TraceOptions& options);

/// What was traced.
struct Traced {
  std::string what;  ///< "ring_attention"
  timed::Code code;
  std::optional<timed::Code> blocks;  ///< of the block computation that a ring was given
  timed::Call call;
  bool on_gpu = false;  ///< the streams of simulated GPUs were traced, in a model's time
};

/// For people: heading, timeline, and notes on how to read it.
std::string trace_text(const Traced& traced, const timed::Page& page);
/// One JSON object.
std::string trace_json(const Traced& traced, const std::vector<std::filesystem::path>& files);

}  // namespace course::lab
