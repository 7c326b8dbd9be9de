#pragma once

#include <deque>
#include <optional>
#include <string>

#include "course/terminal/terminal.hpp"
#include "train/channel.hpp"

namespace course::train {

/// How a run goes: a line that rewrites itself on a terminal, and one that stays after every hundredth step
/// and the last.
class RunProgress {
 public:
  /// @param prints whether lines that stay go to stdout; else there are none, and stderr has a word now and
  ///               then where it is no terminal
  RunProgress(const Order& order, Index first, bool prints);

  void add(const StepNews& news);
  /// Before the first step, and after the last, what rank 0 says.
  void show(const std::string& doing);

 private:
  /// "-" before a step that is nothing but a step.
  std::string tokens_a_second() const;
  double seconds_left(Index made) const;

  Index context_, first_, last_;
  bool prints_;
  program::ProgressLine line_;
  std::deque<double> latest_;  ///< seconds of the last steps
  std::optional<double> held_out_;
  double begin_s_;
  bool begun_ = false, has_head_ = false;
};

}  // namespace course::train
