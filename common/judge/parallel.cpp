#include "judge/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>
#include <utility>

namespace course {

void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  const auto make_calls = [&] {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(i);
    } catch (...) {
      next = count;
      throw;
    }
  };
  std::vector<std::future<void>> helpers;  // which are waited for where they go
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  for (std::size_t i = 1; i < std::min(cores, count); ++i)
    helpers.push_back(std::async(std::launch::async, make_calls));
  make_calls();
  for (std::future<void>& helper : helpers) helper.get();
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
