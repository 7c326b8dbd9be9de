#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <vector>

#include "runner/deadlock.hpp"

namespace course {

/// How long ranks stood ready to run while others had the cores, from start() on: on a machine with more to
/// do than it can, a right answer takes its time.
class Starvation {
 public:
  /// @param launch the process that was started
  explicit Starvation(pid_t launch) : launch_(launch) {}

  void start() { since_ = queued(); }
  void stop() { since_.reset(); }
  bool is_counted() const { return since_.has_value(); }

  /// Of the rank that waited least, among those that have work of their own to do; 0 if none has.
  double seconds(const std::vector<RankSnapshot>& ranks) const;

 private:
  std::map<pid_t, double> queued() const;

  pid_t launch_;
  std::optional<std::map<pid_t, double>> since_;
};

}  // namespace course
