#pragma once

#include <sys/types.h>

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "bench/contender.hpp"
#include "protocol/case.hpp"
#include "ring/layout.hpp"
#include "runner/outcome.hpp"
#include "timed/extents.hpp"
#include "timed/packed_row.hpp"
#include "timed/timed.hpp"

namespace course::bench {

/// Attention's input of one size, drawn with a fixed seed, and its answers by the float32 reference. Only o
/// has a gradient.
struct Problem {
  /// @param causal whether a query sees the keys up to its own position, or all
  explicit Problem(const timed::Extents& size, bool causal = false)
      : Problem(size, timed::PackedRow{.causal = causal}, size.heads) {}
  /// @param row what queries see; nothing is added to scores
  /// @param kv_heads of keys and values
  Problem(const timed::Extents& size, const timed::PackedRow& row, Index kv_heads);

  timed::Extents extents;
  double seen;  ///< which part of all pairs of a query and a key the mask shows
  /// q, d_o, o, dq: [heads, tokens, head_dim]; k, v, dk, dv: [kv_heads, tokens, head_dim]; lse, d_lse,
  /// delta: [heads, tokens].
  std::map<std::string, Tensor> tensors;

  int tokens() const { return static_cast<int>(extents.tokens); }
  /// q.npy and so on, for another process.
  void write(const std::filesystem::path& folder) const;
};

/// A function of a lesson, with what it is given of a problem and what it answers.
struct PlayedFunction {
  std::filesystem::path library;
  std::string name;
  Arguments arguments = {};
  std::vector<std::string> inputs = {};
  std::vector<std::string> outputs = {};
  std::optional<timed::PackedRow> row = {};  ///< what a ring of packed rows is told
  /// Inputs that an earlier function was given or answered, as CaseManifest::from has it.
  std::map<std::string, std::string> from = {};
};

/// Functions that a player calls one after another.
struct Play {
  std::vector<PlayedFunction> functions;
  std::vector<int> cores;             ///< of each rank
  Layout layout;                      ///< of all ranks, or of one where they are apart
  bool mpi = false;                   ///< with the player of lessons that use MPI
  std::filesystem::path player = {};  ///< another player
  bool apart = false;                 ///< each rank by itself, with the whole problem
  bool spans = false;                 ///< whether they are recorded
  bool checked = false;               ///< whether a simulated GPU looks at every access
  bool by_steps = false;              ///< a call's time is step_seconds, not that of the clock
  std::filesystem::path block = {};   ///< whose blocks a ring computes with
  std::filesystem::path block_backward = {};
  std::set<pid_t> spared = {};  ///< processes that go on when the player ends
};

/// Attention in blocks on a core, and its gradients.
Play forward(const std::filesystem::path& library, const Problem& problem, int core);
Play backward(const std::filesystem::path& library, const Problem& problem, int core);

/// The same by lesson 20's functions, a call a head.
Play forward_in_registers(const std::filesystem::path& library, const Problem& problem, int core);
Play backward_in_registers(const std::filesystem::path& library, const Problem& problem, int core);

/// One call of a GPU's block computation that sees all keys, on a simulated GPU.
Play simulated_forward(const std::filesystem::path& library, const std::filesystem::path& player,
                       const Problem& problem, int core);

/// The ring on this layout with its ranks on these cores, and after it its backward pass, if that is not
/// null. On a layout of one rank each of them has the whole problem and plays by itself.
Play ring(const timed::Code& forward, const timed::Code* backward, const Layout& layout,
          std::vector<int> cores);

/// Of each call of a ring the sum over its steps of the CPU time of the rank whose block took longest at it:
/// the time of ranks that have a core each, move in step, and send in no time. Neither a wait for a message
/// nor one for a core counts. At step s rank r has the block of rank r - s. Ranks that are `apart` have one
/// step.
std::vector<double> step_seconds(const Outcome& outcome, bool apart);

/// Each repetition is a run of the player, of which the first call is left out: it finds memory and caches
/// cold. What it says of itself when it fails is thrown as a std::runtime_error with the contender's name.
Contender played(std::string name, double operations, Play play, std::shared_ptr<const Problem> problem);

}  // namespace course::bench
