#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "bench/device/sizes.hpp"

namespace course::bench::device {

/// What the programs here are told.
struct Options {
  std::filesystem::path rows;      ///< where the rows go as JSON; empty: nowhere
  std::string transport = "NCCL";  ///< what carries a ring's messages, in words
  Sizes sizes;
};

/// Throws std::invalid_argument with what is wrong and the usage.
Options parse_options(int argc, char** argv);

/// Of the device: its name, and all that a reader of the rows wants to know of it; and the sizes. Throws
/// std::runtime_error where there is no device.
std::vector<std::pair<std::string, std::string>> about(const Sizes& sizes);

/// What a person reads above the table.
std::string heading(const std::vector<std::pair<std::string, std::string>>& about);

}  // namespace course::bench::device
