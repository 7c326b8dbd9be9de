#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "course/checkout.hpp"

namespace course::program {

struct CheckOptions {
  std::string lesson;  ///< as choose_lesson understands it
  std::string task;
  std::optional<int> ranks;
  std::optional<std::uint64_t> seed;
  /// A command in place of the built-in player; then nothing of the student's is compiled.
  std::optional<std::string> player;
  bool sanitize = false;
  bool json = false;
};

/// Grades the student's files of one lesson and prints the verdict. Returns the exit code.
int check(const Checkout& checkout, const CheckOptions& options);

}  // namespace course::program
