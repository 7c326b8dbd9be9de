#pragma once

#include <vector>

namespace course::bench {

/// The numbers of the cores that this process may use, ascending.
std::vector<int> allowed_cores();

/// Keeps the thread that calls it on one core. Throws std::system_error.
void stay_on_core(int core);

}  // namespace course::bench
