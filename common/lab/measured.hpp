#pragma once

#include <string>
#include <vector>

#include "lab/model.hpp"
#include "runner/rank_record.hpp"

namespace course::lab {

/// The calls of one case, of which one is shown, as all ranks saw it.
struct CallResult {
  std::string name;
  double seconds = 0;  ///< of the call shown, by the rank that took longest
  int calls = 1;
  std::vector<RankRecord> ranks;
};

/// What one setting of the laboratory measured. Times are those of the slowest rank.
struct Measured {
  double work_over_transfer = 0;  ///< asked for
  Workload work;
  double flops = 0;                   ///< F, when the tokens were chosen
  double bytes_per_s = 0;             ///< B, when the tokens were chosen
  double compute_alone_s = 0;         ///< P blocks without a message
  double blocking_transfers_s = 0;    ///< the blocking ring's hops without a block
  double overlapped_transfers_s = 0;  ///< the overlapped ring's hops without a block
  std::vector<CallResult> rings;      ///< blocking, without progress, with progress
};

/// What a trace or a laboratory found.
struct Result {
  int ranks = 1;
  CallResult call;                 ///< of a trace
  std::vector<Measured> settings;  ///< of a laboratory
};

}  // namespace course::lab
