#pragma once

#include <vector>

#include "demo/input.hpp"
#include "demo/options.hpp"
#include "runner/launcher.hpp"
#include "runner/rank_record.hpp"

namespace course::demo {

/// What is demonstrated: rings, on the same input and the same ranks.
struct Demonstration {
  Input input;
  std::vector<RingKind> rings;
  int ranks = default_ranks;
  bool mine = false;
  int runs = 1;  ///< of each ring, of which the fastest is shown

  bool backward() const { return input.d_o.has_value(); }
  std::vector<int> shard_tokens() const;
};

/// How often to run: a run of a few milliseconds is mostly first messages, first touches of memory and the
/// whims of the scheduler, so of such runs the fastest of several is shown.
int worthwhile_runs(const Input& input);

/// A forward case of each ring and, with a gradient, a backward one, for the player in this order: each ring
/// goes back from its own o and lse, and the first ring's cases hold what all are given.
std::vector<Case> cases_of(const Demonstration& shown, const Libraries& libraries);
TimedPlay timed_play(const Demonstration& shown, const Libraries& libraries);

/// "blocking ring, backward"
std::string pass_name(const Demonstration& shown, std::size_t which_case);

/// A ring's whole answer.
struct RingAnswer {
  Tensor o, lse;
  Tensor dq, dk, dv;  ///< empty when the run was forward only
  std::vector<RankRecord> ranks;
};

/// By ring, from the outcomes of the cases, all Finished. The backward pass, which is timed by itself, begins
/// in the trace where the slowest rank's forward pass ends.
std::vector<RingAnswer> answers_of(const Demonstration& shown, std::vector<Outcome> outcomes);

}  // namespace course::demo
