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
  std::string verdict(bool right) const { return right ? painted("32", "right") : painted("1;31", "WRONG"); }

 private:
  std::string painted(const std::string& code, const std::string& text) const {
    return colour_ ? "\x1b[" + code + "m" + text + "\x1b[0m" : text;
  }
  bool colour_;
};

/// A ring's errors of o and lse, traffic and times, by rank and over all.
std::string rank_table(const RingSummary& ring, const Paint& paint);

/// A ring's errors of dq, dk and dv; empty when the run was forward only.
std::string gradient_table(const RingSummary& ring, const Paint& paint);

/// The rings beside each other: time, share of it that is exposed, traffic, errors. At most 80 columns for
/// two; empty for one.
std::string side_by_side(const RunSummary& run, const Paint& paint);

}  // namespace course::demo
