#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "course/terminal/terminal.hpp"
#include "demo/comparison.hpp"
#include "runner/launcher.hpp"
#include "runner/outcome.hpp"
#include "timed/timed.hpp"

namespace course::demo {

struct Ring {
  std::string name;  ///< as --ring or --exchange takes it
  timed::Code forward, backward = {};
};

/// What is demonstrated: rings, on the same input and the same ranks.
struct Demonstration {
  std::vector<Ring> rings = {};                 ///< to play; the tensors of the first are written
  timed::Code block = {}, block_backward = {};  ///< none for GPUs: the lesson's adapter has kernels
  std::vector<std::string> player = {};         ///< the command that starts a rank; ends with the program
  bool backward = false;
  bool mine = false;
  bool in_registers = false;  ///< blocks are those in vector registers
  RingFor what = RingFor::Everything;
  PackedRow row = {};           ///< without starts where the rings know of no documents
  std::string backend = "mpi";  ///< as --backend takes it
  int ranks = 4;
  std::string layout_name = "contiguous";
  std::map<std::string, Index> exchange_sizes = {};  ///< by the names of the function's arguments
  int runs = 1;                                      ///< of each ring, of which the fastest is shown
  Input input = {};

  /// Times are a model's, and spans those of the streams of GPUs.
  bool simulated() const { return backend == "sim"; }
  bool on_device() const { return backend == "cuda"; }
  /// Which rank has which tokens.
  Layout layout() const;
  /// What each query sees, by positions in the sequence.
  reference::Mask mask() const { return row.mask(); }
  bool causal() const { return row.causal; }
  bool is_packed() const { return what == RingFor::PackedRows; }
  bool is_exchange() const { return what == RingFor::Exchange; }
};

/// Finds the lessons that the options ask for; says on stderr which cannot be shown and are left out. Throws
/// Unavailable where there is nothing to show, or what was asked for by name is not there, and UsageError for
/// a ring that does not fit the other options. The input is still empty.
Demonstration plan(const program::Checkout& checkout, const Options& options);

/// `shown` with these rings, by name, their code and their player: whatever of the lessons the registry says.
Demonstration with_rings(const program::Checkout& checkout, const std::vector<std::string>& rings,
                         Demonstration shown);

/// "blocking ring", or "ulysses exchange".
std::string called(const std::string& ring);

/// How often to run: a run of a few milliseconds is mostly first messages, first touches of memory and the
/// whims of the scheduler, so of such runs the fastest of several is shown.
int worthwhile_runs(const Input& input);

/// What came of one ring, or of an exchange.
struct RingResult {
  std::string name;                       ///< that of a Ring
  std::map<std::string, Tensor> outputs;  ///< whole: o, lse and, unless the run was forward only, dq, dk, dv
  std::vector<RankRecord> ranks;  ///< the backward pass begins where the slowest rank's forward pass ends
  Comparison comparison = {};     ///< of the outputs with what they should be
};

/// Plays the rings on this machine; passes on what the ranks print, and says how far they are. Throws
/// Unavailable where ranks cannot be started, and std::runtime_error that says why no answer came back.
/// Nothing that was started outlives the call.
std::vector<RingResult> play(const Demonstration& shown, program::ProgressLine& progress);

/// Writes the cases into a folder that is new or empty, with what the report needs beside them. Returns the
/// player's arguments. Throws UsageError for another folder, and where it cannot be written.
std::vector<std::string> prepare(const std::filesystem::path& folder, const Demonstration& shown);

/// Reads back what prepare() wrote. Throws UsageError for a folder that it did not write.
Demonstration read_prepared(const program::Checkout& checkout, const std::filesystem::path& folder);

/// What ranks have made of it. Throws std::runtime_error that says what is missing.
std::vector<RingResult> read_played(const std::filesystem::path& folder, const Demonstration& shown);

}  // namespace course::demo
