#include "judge/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace course {

namespace {

/// The calls, dealt out one by one to whoever asks.
class Calls {
 public:
  Calls(std::size_t count, const std::function<void(std::size_t)>& work) : count_(count), work_(work) {}

  void make() {
    for (std::size_t i = next_++; i < count_; i = next_++) {
      try {
        work_(i);
      } catch (...) {
        const std::lock_guard<std::mutex> guard(mutex_);
        if (thrown_ == nullptr) thrown_ = std::current_exception();
        next_ = count_;
      }
    }
  }

  void rethrow() const {
    if (thrown_ != nullptr) std::rethrow_exception(thrown_);
  }

 private:
  std::size_t count_;
  const std::function<void(std::size_t)>& work_;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr thrown_;
};

}  // namespace

void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  Calls calls(count, work);
  {
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(cores, count); ++i) helpers.emplace_back([&] { calls.make(); });
    calls.make();
  }
  calls.rethrow();
}

void for_each_in_parallel(const std::vector<std::size_t>& counts,
                          const std::function<void(std::size_t, std::size_t)>& work) {
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::size_t j = 0; j < counts[i]; ++j) places.emplace_back(i, j);
  }
  for_each_in_parallel(places.size(), [&](std::size_t k) { work(places[k].first, places[k].second); });
}

}  // namespace course
