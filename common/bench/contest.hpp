#pragma once

#include <filesystem>
#include <map>
#include <vector>

#include "bench/rows.hpp"
#include "timed/timed.hpp"

namespace course::bench {

/// What is timed, and how.
struct Contest {
  int heads = 8;
  int tokens = 2048;  ///< on one core; a ring has twice as many
  std::vector<int> head_dims{32, 64, 128};
  int ring_head_dim = 64;
  std::vector<int> ring_ranks{2, 4};  ///< of causal rings
  int repetitions = 9;
  double min_seconds = 0.1;                     ///< of one repetition
  bool in_registers = false;                    ///< blocks are lesson 20's, forward and backward
  std::map<Role, timed::Code> lessons = {};     ///< what needs one that is not here is left out
  std::map<Role, timed::Code> eigen_maps = {};  ///< blocks written with Eigen's own expressions
  std::filesystem::path gather = {};            ///< gather.cpp's shared object
  std::filesystem::path work = {};              ///< a folder for tensors that processes share
  std::filesystem::path peers =
      {};  ///< a Python that has torch and ring-attention-pytorch; empty: there is none
};

/// Throws std::runtime_error that names a contender which fails or whose answer is wrong.
std::vector<Row> hold(const Contest& contest);

inline constexpr int simulated_share = 8;
/// The same of a GPU's forward block computation on a simulated GPU, whose accesses are looked at or not,
/// against the core's multiply-adds. One head, and so many times fewer tokens, since a simulated GPU is slow.
/// @param player of that lesson
std::vector<Row> hold_simulated(const Contest& contest, const std::filesystem::path& player);

/// The same of causal rings: on one core against attention to all keys, and on several numbers of ranks,
/// contiguous, striped and zigzag, against one rank, against ranks that do not wait for each other, and
/// against the ring to all keys. Times are step_seconds. The lessons have a block computation and a ring on
/// any layout.
std::vector<Row> hold_causal(const Contest& contest);

/// Blocks in vector registers, on this core: what they reach of its multiply-adds.
struct RegistersReport {
  /// The ratio is the share of the multiply-adds, the bound what instructions leave of it, the rate their
  /// quotient in percent; no ratio where the machine was too noisy.
  std::vector<Row> rows = {};
  int lanes = 0;
  int level = 0;  ///< 0 to 3, of the lowest row
  bool noisy = false;
};
/// One head's blocks at contest.head_dims, forward and backward, in this process, in turns with the
/// multiply-adds that they are held against; beside each lesson 04's or 06's. Throws std::runtime_error where
/// their answers differ.
RegistersReport hold_registers(const Contest& contest);

/// The same by the clock of rings with fewer key heads than query heads against as many, and of a window ring
/// and a gather of all keys and values against a causal ring that goes all the way round.
std::vector<Row> hold_packed(const Contest& contest);

/// What takes the place of a ring, by the clock.
struct ExchangeReport {
  std::vector<Row> rows = {};  ///< with what a rank sends
  /// Of each number of ranks and of key heads what sends least, in words.
  std::vector<std::pair<std::string, std::string>> preferred = {};
};
/// A ring, a gather, Ulysses, and on four ranks or more a grid and a double ring of pairs, on one input with
/// as many key heads as query heads, and with fewer.
ExchangeReport hold_exchanges(const Contest& contest);

}  // namespace course::bench
