#pragma once

#include <filesystem>
#include <string>

#include "runner/descriptor.hpp"

namespace course::program {

/// Holds an advisory lock (flock) on a file, which it makes where there is none, until destroyed. Children do
/// not inherit it.
class FileLock {
 public:
  /// Waits for whoever holds it, at most 15 minutes, and says so: "waiting for WHOM", and which process that
  /// is; or throws WouldWait. Throws Unavailable when the file cannot be made, std::runtime_error when the
  /// wait was too long.
  FileLock(const std::filesystem::path& path, const std::string& whom, bool may_wait = true);

 private:
  Descriptor file_;
};

}  // namespace course::program
