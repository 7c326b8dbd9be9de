#pragma once

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bench/contender.hpp"
#include "bench/worker.hpp"

namespace course::bench {

using Workers = std::vector<std::shared_ptr<Worker>>;

/// torch's attention on that core. `python` has the peers; `problems` is the folder that peer.py reads.
std::shared_ptr<Worker> start_torch(const std::filesystem::path& python,
                                    const std::filesystem::path& problems, int core);

/// The two ranks of ring-attention-pytorch, on the first two of the cores.
Workers start_peer_ring(const std::filesystem::path& python, const std::filesystem::path& problems,
                        const std::vector<int>& cores, bool causal);

std::set<pid_t> pids_of(const Workers& workers);

/// What a ring does, as peer.py calls it, and in names.
struct Pass {
  const char* task;
  const char* suffix;
  bool backward;
};
inline constexpr Pass forward_pass{"forward", "", false};
inline constexpr Pass both_passes{"both", ", forward and backward", true};

/// A contender that other processes play together: the slowest counts.
Contender worked(std::string name, double operations, Workers workers, const std::string& task);

}  // namespace course::bench
