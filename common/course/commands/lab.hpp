#pragma once

#include <optional>
#include <string>

#include "course/workspace/checkout.hpp"

namespace course::program {

struct LabOptions {
  std::string name;             ///< "slow-network" or "two-hosts"
  std::string bandwidth;        ///< of the link; empty: 100 Mbit/s for each rank that shares it
  std::string latency = "0ms";  ///< one way, beyond what the link has
  std::optional<int> ranks;     ///< without it 4, or 2 where there are fewer cores
  std::string out;              ///< a folder; empty: .course/lab/NAME
  bool json = false;
};

/// Runs a laboratory: the blocking ring and the overlapped one, without and with progress, on
/// a link of a chosen speed; draws what the ranks did and prints how much of the communication was exposed,
/// beside what the model says.
int lab(const Checkout& checkout, const LabOptions& options);

}  // namespace course::program
