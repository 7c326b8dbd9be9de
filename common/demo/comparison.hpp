#pragma once

#include <functional>
#include <string>
#include <vector>

#include "demo/input.hpp"

namespace course::demo {

/// How far an output is from the truth.
struct Deviation {
  double largest = 0;   ///< of the absolute differences
  double relative = 0;  ///< the norm of the difference over the norm of the truth, of the worst head
};

struct Deviations {
  Deviation o, lse;
};

/// The ring's answer beside float64 attention.
struct Comparison {
  std::vector<Deviations> by_rank;
  Deviations overall;
  double tolerance_o = 0;    ///< of overall.o.relative
  double tolerance_lse = 0;  ///< of overall.lse.relative
  Deviations baseline;       ///< of plain float32 attention, which the tolerances are made from
  Index rows = 0;            ///< query rows that were compared, of each head
  Index seq = 0;             ///< query rows that there are

  bool passed() const { return overall.o.relative <= tolerance_o && overall.lse.relative <= tolerance_lse; }
};

/// Is told now and then how far the work is.
using Progress = std::function<void(const std::string&)>;

/// Compares o [heads, seq, head_dim] and lse [heads, seq] with reference::attention in float64. Where all of
/// it would take more than a few seconds, rows evenly spread over every shard stand for the rest; each is
/// compared with the truth over all keys.
Comparison compare(const Input& input, const Tensor& o, const Tensor& lse,
                   const std::vector<int>& shard_tokens, const Progress& progress);

/// The query rows to compare: all of them if `most` allows, else about `most`, at least one of each shard
/// that has any, the first and the last of a shard before those between them.
std::vector<Index> rows_to_compare(const std::vector<int>& shard_tokens, Index most);

}  // namespace course::demo
