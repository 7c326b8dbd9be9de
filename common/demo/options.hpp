#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/view.hpp"

namespace course::demo {

inline constexpr int default_ranks = 4;
inline constexpr int most_ranks = 64;  ///< beyond, the demo warns and tries

/// Somebody's own tensors.
struct OwnFiles {
  std::filesystem::path q, k, v;
  std::optional<std::filesystem::path> d_o = {};  ///< the gradient that arrives at the output
};

/// What to draw at random.
struct Sizes {
  Index seq = 512;
  Index heads = 12;
  Index head_dim = 32;
  std::uint64_t seed = 1;
};

/// The shared objects that are demonstrated.
struct Libraries {
  std::filesystem::path ring;                  ///< of lesson 05
  std::filesystem::path block;                 ///< of lesson 04
  std::filesystem::path ring_backward;         ///< of lesson 07
  std::filesystem::path block_backward;        ///< of lesson 06
  std::filesystem::path overlapped_ring = {};  ///< of lesson 08
};

/// A ring that the demo knows, and where its passes come from.
struct RingKind {
  std::string_view name;  ///< as --ring takes it
  std::string_view lesson, backward_lesson;
  std::string_view function, backward_function;  ///< as a case names them
  std::filesystem::path Libraries::*library;
  std::filesystem::path Libraries::*backward_library;
};

/// In the order in which they run.
inline constexpr std::array<RingKind, 2> ring_kinds{
    {{"blocking", "05", "07", "ring_attention", "ring_attention_backward", &Libraries::ring,
      &Libraries::ring_backward},
     {"overlapped", "08", "08", "overlapped_ring_attention", "overlapped_ring_backward",
      &Libraries::overlapped_ring, &Libraries::overlapped_ring}}};

/// Those that --ring picks: the one of this name, or all for "both". Throws UsageError for another word.
std::vector<RingKind> picked_rings(const std::string& word);

/// What the command line says. Without `files` and `sizes` the input is the course's own.
struct Options {
  std::string help;  ///< not empty: print it and do nothing else
  std::optional<int> ranks;
  std::optional<OwnFiles> files;
  std::optional<Sizes> sizes;
  std::optional<std::filesystem::path> out;
  std::vector<RingKind> rings;  ///< to play; the tensors of the first are written
  Libraries libraries;
  bool backward = false;  ///< there is a gradient to start from: the course's own, or --do
  bool mine = false;
  bool json = false;
  bool verbose = false;
  std::optional<std::filesystem::path> prepare;  ///< only write the cases there
  std::optional<std::filesystem::path> report;  ///< of cases that have been played there; nothing else is run
};

/// Throws UsageError for what is unknown, malformed or contradictory, then Unavailable for what a later
/// lesson brings. Looks at no file.
Options parse_options(const std::vector<std::string>& arguments);

}  // namespace course::demo
