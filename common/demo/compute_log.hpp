#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trace/tiles.hpp"
#include "trace/trace.hpp"

namespace course::demo {

/// Compute as it is timed while a call runs, on this host's monotonic clock.
class ComputeLog {
 public:
  /// Runs `work` as one span of compute.
  void time(const std::string& label, const std::function<void()>& work);
  /// Inside `work`: runs `pause`, a span of its own that is called progress_label; what comes after it is a
  /// new span of compute. MPI's tests are no spans of the layer's.
  void interrupt(const std::function<void()>& pause);

  /// The same for work that somebody else starts and ends.
  void begin(const std::string& label);
  void end();

  const std::vector<Span>& spans() const { return spans_; }

 private:
  std::string label_;
  double begin_s_ = 0;
  std::vector<Span> spans_;
};

}  // namespace course::demo
