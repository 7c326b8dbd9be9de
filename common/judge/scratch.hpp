#pragma once

#include <filesystem>

namespace course {

/// A private folder in memory (/dev/shm), else under TMPDIR or /tmp, that is removed with everything in it.
/// Its path is short: Open MPI makes UNIX sockets below it, whose names end at 108 characters.
class Scratch {
 public:
  /// Throws std::system_error when no folder can be made.
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace course
