#pragma once

#include <string>
#include <vector>

#include "lab/measured.hpp"

namespace course::lab {

/// A number that was measured beside what the model says of it, both as parts of the time of the computation
/// alone: 0.25 is a quarter more than it.
struct Exposed {
  std::string ring;
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
