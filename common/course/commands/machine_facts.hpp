#pragma once

#include <string>
#include <vector>

#include "course/workspace/checkout.hpp"

namespace course::program {

/// One thing that a machine may have.
struct MachineFact {
  std::string name;
  bool found = false;
  std::string value;         ///< what was found: a version, a size; or why it was not
  std::string skipped = {};  ///< what is skipped for want of it; empty: nothing
  bool needed = false;       ///< whether the course does not work without it
};

/// Looks at the machine. Starts a few programs, each with a time limit.
std::vector<MachineFact> look_at_machine(const Checkout& checkout);

/// The cores that this process may use, which in a container are fewer than the machine's.
int usable_cores();

/// The version that a CMake package's version file states, in the text of such a file; empty when it states
/// none.
std::string package_version(const std::string& version_file);

/// The value of an entry of a CMakeCache.txt, or an empty string.
std::string cache_entry(const std::string& cache, const std::string& name);

}  // namespace course::program
