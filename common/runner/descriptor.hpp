#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

namespace course {

/// An open file, closed when this goes, unless it was released. Negative: none.
class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept : file_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~Descriptor() {
    const int kept = errno;
    if (file_ >= 0) close(file_);
    errno = kept;
  }
  int get() const { return file_; }
  int release() { return std::exchange(file_, -1); }

 private:
  int file_;
};

/// Throws std::system_error with what errno says.
[[noreturn]] inline void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Opens a file or folder below `folder` for reading, one step of the path at a time: no link is followed and
/// no pipe waited for. Negative with errno where that fails; ELOOP or ENOTDIR where a step is a link.
inline Descriptor open_beneath(const Descriptor& folder, const std::filesystem::path& path) {
  Descriptor at;
  int parent = folder.get();
  for (auto step = path.begin(); step != path.end(); ++step) {
    if (*step == "..") {
      errno = ELOOP;
      return Descriptor();
    }
    const int kind = std::next(step) == path.end() ? 0 : O_DIRECTORY;
    at = Descriptor(openat(parent, step->c_str(), kind | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (at.get() < 0) break;
    parent = at.get();
  }
  return at;
}

}  // namespace course
