#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tensor/view.hpp"

namespace course::demo {

inline constexpr int default_ranks = 4;
inline constexpr int most_ranks = 64;  ///< beyond, the demo warns and tries

/// Somebody's own tensors.
struct OwnFiles {
  std::filesystem::path q, k, v;
};

/// What to draw at random.
struct Sizes {
  Index seq = 512;
  Index heads = 12;
  Index head_dim = 32;
  std::uint64_t seed = 1;
};

/// What the program that starts the ranks tells rank 0 about the terminal, and where it looks for news.
struct FrontEnd {
  std::filesystem::path status;  ///< pages of RankStatus, one a rank; empty: nobody watches
  std::filesystem::path report;  ///< what would go to stdout; empty: stdout
  int columns = 100;
  bool colour = false;
};

/// What the command line says. Without `files` and `sizes` the input is the course's own.
struct Options {
  std::string help;  ///< not empty: print it and do nothing else
  std::optional<int> ranks;
  std::optional<OwnFiles> files;
  std::optional<Sizes> sizes;
  std::optional<std::filesystem::path> out;
  std::filesystem::path ring;   ///< the shared object with course_demo_ring
  std::filesystem::path block;  ///< the shared object with course_demo_block
  bool mine = false;
  bool json = false;
  FrontEnd front;
};

/// Throws InputError for what is unknown, malformed or contradictory, then Unavailable for what a later
/// lesson brings. Looks at no file.
Options parse_options(const std::vector<std::string>& arguments);

}  // namespace course::demo
