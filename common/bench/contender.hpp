#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/problem.hpp"

namespace course::bench {

/// Something that is timed.
struct Contender {
  std::string name;
  double operations;                ///< useful ones a call, of one rank
  std::function<double()> seconds;  ///< makes a call and says how long it took
  std::function<double()> error;    ///< makes a call and says how far its answer is from the reference
};

/// Eigen's product of two matrices of 1024 x 1024, on this process's core.
Contender eigen_product(std::string name);

/// lesson04::blockwise_attention of a lesson's shared object, in this process. Throws UsageError when
/// it cannot be loaded.
Contender forward(std::string name, const std::filesystem::path& library,
                  std::shared_ptr<const Problem> problem);

/// lesson06::attention_backward, in the same way.
Contender backward(std::string name, const std::filesystem::path& library,
                   std::shared_ptr<const Problem> problem);

/// GFLOP/s by name: medians of `repetitions`, each of calls for `min_seconds` at least, in random order. Each
/// contender first answers once. Throws std::runtime_error with the name of one whose answer is more than
/// 1e-3 off.
std::map<std::string, double> measure(const std::vector<Contender>& contenders, int repetitions,
                                      double min_seconds);

}  // namespace course::bench
