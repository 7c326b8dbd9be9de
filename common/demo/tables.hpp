#pragma once

#include <string>

#include "demo/summary.hpp"

namespace course::demo {

/// Text that is emphasised on a terminal with colours.
class Paint {
 public:
  explicit Paint(bool colour) : colour_(colour) {}
  std::string bold(const std::string& text) const { return painted("1", text); }
  std::string pale(const std::string& text) const { return painted("2", text); }
  std::string right(const std::string& text) const { return painted("32", text); }
  std::string wrong(const std::string& text) const { return painted("1;31", text); }
  std::string verdict(bool is_right) const { return is_right ? right("right") : wrong("WRONG"); }

 private:
  std::string painted(const std::string& code, const std::string& text) const {
    if (!colour_) return text;
    const std::size_t end = text.find_last_not_of('\n') + 1;
    return "\x1b[" + code + "m" + text.substr(0, end) + "\x1b[0m" + text.substr(end);
  }
  bool colour_;
};

/// A ring's errors of o and lse, traffic and times, by rank and over all.
std::string rank_table(const RingSummary& ring, const Paint& paint);

/// A ring's errors of dq, dk and dv; empty when the run was forward only.
std::string gradient_table(const RingSummary& ring, const Paint& paint);

/// The rings beside each other in less than 80 columns: time of the slowest rank, share of all ranks' time
/// that is exposed (in transfers and waits, which no work hides), traffic, the worst head's relative errors
/// and what is allowed.
std::string ring_table(const RunSummary& run, const Paint& paint);

}  // namespace course::demo
