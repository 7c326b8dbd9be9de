#include "course/terminal/live_progress.hpp"

#include <chrono>
#include <utility>

namespace course::program {

LiveProgress::~LiveProgress() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  ended_.notify_one();
  if (repeating_.joinable()) repeating_.join();
}

void LiveProgress::show(Text text) {
  const std::lock_guard lock(mutex_);
  text_ = std::move(text);
  line_.show(text_(line_.seconds()));
  if (!repeating_.joinable()) repeating_ = std::thread([this] { repeat(); });
}

void LiveProgress::clear() {
  const std::lock_guard lock(mutex_);
  line_.clear();
}

void LiveProgress::repeat() {
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, std::chrono::seconds(1), [this] { return over_; }))
    line_.show(text_(line_.seconds()));
}

}  // namespace course::program
