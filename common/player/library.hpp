#pragma once

#include <filesystem>
#include <string>

#include "player/adapter.hpp"

namespace course {

/// A lesson's shared object. It stays loaded as long as the process lives.
class Library {
 public:
  /// What is wrong with loading it is told by those who use it.
  explicit Library(const std::filesystem::path& path);

  /// Throws std::runtime_error in the loader's own words, or when there is none.
  const Adapter& adapter() const;
  const LessonBlocks& blocks() const;

 private:
  template <class Entry>
  Entry* entry(const char* name) const;

  std::filesystem::path path_;
  void* library_;
  std::string wrong_;
};

}  // namespace course
