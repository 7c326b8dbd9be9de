#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace course::bench {

/// What the command line says. A library or interpreter that is not given is empty: what needs it is left
/// out.
struct Options {
  std::string help;  ///< not empty: print it and do nothing else
  std::filesystem::path forward;
  std::filesystem::path backward;
  std::filesystem::path eigen_forward;   ///< lesson 04 written with Eigen's own expressions
  std::filesystem::path eigen_backward;  ///< lesson 06, in the same way
  std::filesystem::path ring;
  std::filesystem::path block;
  std::filesystem::path ring_backward;  ///< with `backward` as its block
  std::filesystem::path peers;          ///< a Python that has torch and ring-attention-pytorch
  std::filesystem::path work;           ///< a folder for the tensors that peers read
  int heads = 8;
  int tokens = 2048;  ///< on one core; a ring has twice as many
  std::vector<int> head_dims{32, 64, 128};
  int ring_head_dim = 64;
  int repetitions = 9;
  double min_seconds = 0.1;
  bool json = false;
};

/// Throws UsageError, in one line, for what is unknown, malformed or out of range.
Options parse_options(std::vector<std::string> arguments);

}  // namespace course::bench
