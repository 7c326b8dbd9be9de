#pragma once

#include <chrono>
#include <string>

namespace course::demo {

/// What a long run says about itself on stderr: nothing in its first two seconds; after that one line,
/// rewritten in place on a terminal, elsewhere a line at most every five seconds.
class ProgressLine {
 public:
  /// @param program what each line begins with
  explicit ProgressLine(std::string program = "demo");
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void say(const std::string& text);
  /// Takes the line off the terminal, so that something else can be printed.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string program_;
  bool rewrites_;
  bool shown_ = false;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point next_;
};

}  // namespace course::demo
