#include "judge/scratch.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <system_error>

namespace course {

namespace {

/// Cases are many small files: memory is five times quicker than a disk. A container's /dev/shm may hold only
/// 64 MB.
std::filesystem::path parent_folder() {
  constexpr std::uintmax_t enough = std::uintmax_t{1} << 30;
  std::error_code error;
  const std::filesystem::space_info memory = std::filesystem::space("/dev/shm", error);
  const bool roomy = !error && memory.available >= enough && access("/dev/shm", W_OK) == 0;
  return getenv("TMPDIR") == nullptr && roomy ? "/dev/shm" : std::filesystem::temp_directory_path();
}

}  // namespace

Scratch::Scratch() {
  std::string pattern = parent_folder() / "course-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), "cannot make a folder like " + pattern);
  }
  path_ = pattern;
}

Scratch::~Scratch() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace course
