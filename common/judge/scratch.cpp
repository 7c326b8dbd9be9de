#include "judge/scratch.hpp"

#include <stdlib.h>

#include <system_error>

namespace course {

Scratch::Scratch() {
  std::string pattern = std::filesystem::temp_directory_path() / "course-XXXXXX";
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
