#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "mpi_layer/mpi_layer.hpp"
#include "mpi_layer/operation.hpp"
#include "mpi_layer/page.hpp"

namespace course::mpi_layer {

/// What the case's report will say. Threads may write it at once.
class Journal {
 public:
  explicit Journal(StatusPage& page) : page_(page) {}

  /// Adds a fact, here and on the page, unless it is known or enough of its kind are.
  void note(const char* kind, const std::string& text);
  /// The same of what happens now: it says how many receives had completed.
  void note_now(const char* kind, const std::string& text) { note(kind, text + page_.so_far()); }
  void note_uncommon(const char* call);

  void count_sent(const Operation& operation);
  /// @param bytes that this rank receives
  void count_collective(const char* call, std::int64_t bytes);

  double now_s() const;  ///< since the case began
  void add_span(Span span);

  /// The report, when nothing is added any more.
  Report take();

 private:
  StatusPage& page_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  Report report_;
};

}  // namespace course::mpi_layer
