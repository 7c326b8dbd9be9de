#pragma once

#include <mpi.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "demo/compute_log.hpp"
#include "demo/options.hpp"
#include "demo/rank_result.hpp"
#include "tensor/tensor.hpp"

namespace course::demo {

/// One rank's share of the input: q, k, v, d_o [heads, shard_tokens[rank], head_dim].
struct Shard {
  Tensor q, k, v;
  std::vector<int> shard_tokens;
  std::optional<Tensor> d_o = {};  ///< none: forward only
};

/// What one ring makes of it.
struct ShardOutput {
  Tensor o;    ///< [heads, shard_tokens[rank], head_dim]
  Tensor lse;  ///< [heads, shard_tokens[rank]]
  RankResult result;
  Tensor dq = {}, dk = {}, dv = {};  ///< as o; empty when the run was forward only
};

/// One pass of a ring over all ranks: every block's work is in the log, and followed by `after_block`.
using Pass = std::function<void(const Shard& shard, ShardOutput& output, ComputeLog& log,
                                const std::function<void()>& after_block, MPI_Comm comm)>;

/// A ring that is demonstrated. Its code stays loaded as long as the process lives.
struct Ring {
  std::string name;  ///< RingKind::name
  Pass forward;
  Pass backward;  ///< empty: forward only
};

/// Throws UsageError with the loader's own words when a library cannot be loaded or lacks its entry point.
std::vector<Ring> load_rings(const std::vector<RingKind>& kinds, const Libraries& libraries, bool backward);

}  // namespace course::demo
