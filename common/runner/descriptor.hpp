#pragma once

#include <filesystem>

namespace course {

/// An open file, closed when this goes, unless it was released. Negative: none.
class Descriptor {
 public:
  explicit Descriptor(int file = -1) : file_(file) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  int get() const { return file_; }
  int release();

 private:
  int file_;
};

/// Opens a file or folder below `folder` for reading, one step of the path at a time: no link is followed and
/// no pipe waited for. Negative with errno where that fails; ELOOP or ENOTDIR where a step is a link.
Descriptor open_beneath(const Descriptor& folder, const std::filesystem::path& path);

}  // namespace course
