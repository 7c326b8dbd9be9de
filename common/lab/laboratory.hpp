#pragma once

#include <functional>
#include <string>
#include <vector>

#include "lab/model.hpp"
#include "timed/timed.hpp"

namespace course::lab {

/// What a laboratory runs, and on what.
struct Laboratory {
  std::string name;  ///< "slow-network"
  int ranks = 2;
  timed::Code block, blocking, overlapped;
  std::string link = {};    ///< Network::description()
  std::string limits = {};  ///< Network::limits()
};

/// What one setting of a laboratory measured. Times are those of the slowest rank.
struct Measured {
  double work_over_transfer = 0;      ///< asked for
  timed::Extents work;                ///< of one rank
  double flops = 0;                   ///< F, when the tokens were chosen
  double bytes_per_s = 0;             ///< B, when the tokens were chosen
  double compute_alone_s = 0;         ///< P blocks without a message
  double blocking_transfers_s = 0;    ///< the blocking ring's hops without a block
  double overlapped_transfers_s = 0;  ///< the overlapped ring's hops without a block
  std::vector<timed::Call> rings;     ///< blocking, without progress, with progress
};

/// Is told what is being done.
using Say = std::function<void(const std::string&)>;

/// A setting whose work takes twice as long as its transfers, and one in which it takes half as long. Throws
/// what timed::play throws, and std::runtime_error where no number of tokens gives such a setting. Nothing
/// that was started outlives the call.
std::vector<Measured> measure(const Laboratory& laboratory, const Starter& starter, const Say& say);

/// What a ring exposed, measured and as the model says, as shares of the computation alone.
struct Exposed {
  double measured = 0;
  double predicted = 0;
};

/// What a setting showed.
struct Reading {
  double work_s = 0;             ///< of one block, measured without a message
  double transfer_s = 0;         ///< of one hop of the overlapped ring, measured without a block
  std::vector<Exposed> exposed;  ///< by ring
};

/// Reads a setting: the model's predictions are made of the computation alone and the transfers alone, each
/// measured in the same run.
Reading read(const Measured& measured, int ranks);

/// A promise of the course and what became of it.
struct Target {
  std::string what;
  double measured = 0;
  double bound = 0;
  bool met = false;
  std::string out_of_reach = "";  ///< why it cannot be met here, where the model says so
};

/// The promises, on the settings measured: with work at twice the transfer the ring with progress is within 3
/// percent of the computation alone and the blocking one loses 30 percent or more; with work at half the
/// transfer the ring with progress takes what the model predicts, within 15 percent.
std::vector<Target> targets(const std::vector<Measured>& settings, int ranks);

}  // namespace course::lab
