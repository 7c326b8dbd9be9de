#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace course {

/// Calls work(0) to work(count - 1), in any order and on as many threads as this process has cores: what one
/// call writes no other may touch. Throws what a call has thrown, once all that began have returned.
void for_each_in_parallel(std::size_t count, const std::function<void(std::size_t)>& work);

/// The same with work(i, j) for every j below counts[i].
void for_each_in_parallel(const std::vector<std::size_t>& counts,
                          const std::function<void(std::size_t, std::size_t)>& work);

}  // namespace course
