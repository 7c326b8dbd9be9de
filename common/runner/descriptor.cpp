#include "runner/descriptor.hpp"

#include <fcntl.h>

namespace course {

Descriptor open_beneath(const Descriptor& folder, const std::filesystem::path& path) {
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
