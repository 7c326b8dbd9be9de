#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "demo/rank_result.hpp"
#include "lab/model.hpp"

/// What the program that people start and the MPI program that it starts tell each other: a plan in one file,
/// a result in another, both JSON.
namespace course::lab {

/// What the ranks are to do.
struct Plan {
  std::string kind;  ///< "case", "ring" or "laboratory"
  std::filesystem::path
      subject;                  ///< case and ring: the lesson's shared object; laboratory: the blocking ring
  std::filesystem::path block;  ///< ring, laboratory: the shared object of lesson 04
  std::filesystem::path overlap;  ///< laboratory: the shared object of lesson 08
  std::filesystem::path folder;   ///< case: what to play
  std::filesystem::path result;   ///< where rank 0 writes the result
};

/// One call as all ranks saw it.
struct CallResult {
  std::string name;
  double seconds = 0;  ///< from the moment when all had begun to the last end
  int calls = 1;       ///< of which this is one: Repeated::Look
  std::vector<demo::RankResult> ranks;
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

struct Result {
  int ranks = 1;
  CallResult call;                 ///< case and ring
  std::vector<Measured> settings;  ///< laboratory
};

std::string to_text(const Plan& plan);
Plan plan_from(const std::string& text);
std::string to_text(const Result& result);
/// Throws nlohmann::json::exception for a text that is no result.
Result result_from(const std::string& text);

}  // namespace course::lab
