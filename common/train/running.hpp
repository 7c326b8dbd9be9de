#pragma once

#include <functional>
#include <string>
#include <vector>

#include "timed/timed.hpp"
#include "train/channel.hpp"

namespace course::train {

/// While one lives, Ctrl-C, and a request to end, ask for an end after the step; the second one ends at once.
class StopRequest {
 public:
  StopRequest();
  ~StopRequest();
  StopRequest(const StopRequest&) = delete;
  StopRequest& operator=(const StopRequest&) = delete;

  static bool asked();
  /// Throws Interrupted where it was asked twice.
  static void stop_if_asked_twice();
};

/// What came of a launch.
struct Made {
  std::vector<StepNews> steps = {};
  std::vector<RankUse> ranks = {};
  std::string sample = {};
  bool stopped = false;  ///< before order.last
};

using OnStep = std::function<void(const StepNews&)>;

/// Has the ranks of order.settings do what the order says. `looks` is called some times a second, with what
/// rank 0 says it does. Throws Unavailable where ranks cannot be started, std::runtime_error that says why
/// they came to no end, and Interrupted.
Made run_ranks(const Order& order, const OnStep& on_step,
               const std::function<void(const std::string& doing)>& looks);

}  // namespace course::train
