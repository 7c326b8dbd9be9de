#pragma once

#include <cstdint>
#include <filesystem>

#include "runner/descriptor.hpp"

namespace course {

/// A private folder in memory (/dev/shm), else under TMPDIR or /tmp, that is removed with everything in it; a
/// process that is killed leaves it to the next one.
/// Its path is short: Open MPI makes UNIX sockets below it, whose names end at 108 characters.
class TemporaryFolder {
 public:
  /// Throws Unavailable, naming TMPDIR and the place, when no folder can be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Throws Unavailable, naming TMPDIR and the place, where its file system has not so much room left.
  void require_room(std::uintmax_t bytes) const;
  /// The same where its file system runs no programs.
  void require_programs() const;

 private:
  std::filesystem::path path_;
  Descriptor lock_;  ///< says that this process lives
};

}  // namespace course
