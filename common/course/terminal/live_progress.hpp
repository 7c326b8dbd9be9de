#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "course/terminal/terminal.hpp"

namespace course::program {

/// A ProgressLine that is written anew every second, so that its times and estimates stay true while a step
/// takes long.
class LiveProgress {
 public:
  /// What to show when so many seconds have passed since construction.
  using Text = std::function<std::string(double seconds)>;

  /// @param first what is shown until there is more to say
  explicit LiveProgress(const std::string& first) { line_.show(first); }
  ~LiveProgress();
  LiveProgress(const LiveProgress&) = delete;
  LiveProgress& operator=(const LiveProgress&) = delete;

  /// From now on this. It is called by another thread, too, never by two at once.
  void show(Text text);
  /// Makes room for other output, until the next second or the next text.
  void clear();
  double seconds() const { return line_.seconds(); }  ///< since construction

 private:
  void repeat();

  ProgressLine line_;
  Text text_;
  bool over_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::thread repeating_;
};

}  // namespace course::program
