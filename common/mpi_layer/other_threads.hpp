#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

namespace course::mpi_layer {

/// How many threads have come to this process since this was made; where that cannot be read, none are known
/// of and some may be there.
class OtherThreads {
 public:
  OtherThreads();
  int known() const;
  bool may_be_there() const { return at_begin_ < 0 || known() > 0; }

 private:
  int at_begin_;
};

/// Whether the other threads of this process have had the chance to do something. It depends on no speed: a
/// thread that waits for a core has not had it, however long that takes.
class Chances {
 public:
  /// Looks, but once a millisecond at most. Returns how many looks so far have found that every other thread
  /// slept or, where `work_counts`, has computed for a while since the last of these looks.
  int look(bool work_counts);

 private:
  bool all_had_theirs(bool work_counts);

  int counted_ = 0;
  std::chrono::steady_clock::time_point next_look_ = {};
  std::map<std::string, std::int64_t> worked_ns_;  ///< of those that did not sleep, at the last that counted
};

}  // namespace course::mpi_layer
