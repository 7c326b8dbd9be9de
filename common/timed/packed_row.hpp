#pragma once

#include <vector>

#include "reference/mask.hpp"
#include "reference/score_bias.hpp"
#include "runner/launcher.hpp"

namespace course::timed {

/// A row of tokens as a ring of packed rows takes it. Every query sees every key of one without starts.
struct PackedRow {
  std::vector<Index> starts = {};  ///< cu_seqlens
  Index window = 0;                ///< 0: no limit
  bool causal = false;
  reference::HeadBias bias = {};  ///< by query head

  /// By positions in the row.
  reference::Mask mask() const;
};

/// Adds it to a ring's arguments, and its slopes and sinks to every rank's inputs.
void add_row(Case& to, const PackedRow& row);

}  // namespace course::timed
