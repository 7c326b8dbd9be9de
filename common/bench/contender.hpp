#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace course::bench {

/// The numbers of the cores that this process may use, ascending.
std::vector<int> allowed_cores();

/// Something that is timed.
struct Contender {
  std::string name;
  double operations;                         ///< useful ones a call, of one rank
  std::function<double(int calls)> seconds;  ///< makes calls and says how long one took, on average
  std::function<double()> error;  ///< makes a call and says how far its answer is from the reference
};

/// Eigen's product of two matrices of 1024 x 1024, in this process on that core.
Contender eigen_product(std::string name, int core);

/// A core's multiply-adds at their fastest: ten sums, one of which does not wait for another, without memory.
Contender multiply_adds(std::string name, int core);

/// GFLOP/s by name: medians of `repetitions`, each of calls for `min_seconds` at least, in random order. Each
/// contender first answers once. Throws std::runtime_error with the name of one whose answer is more than
/// 1e-3 off.
std::map<std::string, double> measure(const std::vector<Contender>& contenders, int repetitions,
                                      double min_seconds);

}  // namespace course::bench
