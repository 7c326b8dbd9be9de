#pragma once

#include <optional>
#include <string>
#include <vector>

#include "timed/packed_row.hpp"

namespace course::demo {

/// What --documents, --window, --alibi and --sinks say.
struct RowOptions {
  /// Their lengths, "300,12,200", or a .npy of cu_seqlens; without it one document.
  std::optional<std::string> documents = {};
  Index window = 0;  ///< 0: no limit
  bool alibi = false;
  std::optional<float> sink = {};  ///< every head's

  bool any() const { return documents || window > 0 || alibi || sink; }
};

using timed::PackedRow;

/// Query heads, a batch folded into them: each batch has the slopes of as many heads as it has.
struct RowHeads {
  Index batches, of_each;
};

/// Throws UsageError where documents are no lengths that add up to `tokens`, or starts that do not begin with
/// 0, fall, or end beyond the row.
PackedRow row_of(const RowOptions& options, bool causal, Index tokens, const RowHeads& heads);

/// "3 documents, window 256, ALiBi, sinks 0.5" of a row of so many tokens; empty where there is nothing to
/// say.
std::string in_words(const PackedRow& row, Index tokens);

}  // namespace course::demo
