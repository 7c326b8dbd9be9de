#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lab/measured.hpp"
#include "runner/launcher.hpp"

/// What is played to be drawn or compared. Every function here starts ranks and waits for them, and nothing
/// that was started outlives it. It throws std::runtime_error with what a rank or mpirun had to say,
/// Unavailable where there is no mpirun.
namespace course::lab {

/// Is told what is being done.
using Say = std::function<void(const std::string&)>;

/// A case that lies in a folder, on as many ranks as it has.
Result trace_case(const std::filesystem::path& folder, const std::filesystem::path& subject);

/// A lesson's forward ring and what it computes with.
struct TracedRing {
  std::filesystem::path subject;  ///< the lesson's shared object
  std::string function;           ///< of its adapter
  std::filesystem::path block;    ///< the shared object that computes blocks
};

/// The ring on generated tokens.
Result trace_ring(const TracedRing& ring, int ranks);

/// The shared objects that a laboratory plays.
struct LaboratoryCode {
  std::filesystem::path block;     ///< of lesson 04
  std::filesystem::path blocking;  ///< of lesson 05
  std::filesystem::path overlap;   ///< of lesson 08
};

/// The laboratory: a setting whose work takes twice as long as its transfers, and one in which it takes half
/// as long. Throws std::runtime_error where no number of tokens gives such a setting.
Result run_laboratory(const LaboratoryCode& code, int ranks, const Starter& starter, const Say& say);

}  // namespace course::lab
