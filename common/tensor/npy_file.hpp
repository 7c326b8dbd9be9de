#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "tensor/npy.hpp"

/// What reading and writing .npy files share.
namespace course::npy {

namespace fs = std::filesystem;

/// NumPy's own limit.
inline constexpr Index kMaxAxes = 64;
/// Values converted at a time, so that a file is never held twice.
inline constexpr Index kChunkValues = 1 << 14;

/// `text` in quotes, with control characters replaced and cut to a length that fits a message.
std::string quoted(std::string_view text);

/// Throws NpyError with the path, its control characters replaced, so that a message stays on its line.
[[noreturn]] void fail(const fs::path& path, const std::string& problem);

/// The same with what errno says.
[[noreturn]] void fail_with_errno(const fs::path& path, const std::string& problem);

/// An open file descriptor. Messages name `path`, which for a temporary file is the name it will get.
class File {
 public:
  File(fs::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  const fs::path& path() const { return path_; }

  struct stat status() const;

  /// Fills bytes[0 .. count - 1] or throws.
  void read(unsigned char* bytes, Index count);

  void write(const unsigned char* bytes, Index count);

  /// Some file systems report a full disk only here.
  void close();

 private:
  fs::path path_;
  int descriptor_;
};

}  // namespace course::npy
