#include "player/library.hpp"

#include <dlfcn.h>

#include <stdexcept>

namespace course {

Library::Library(const std::filesystem::path& path)
    : path_(path), library_(dlopen(std::filesystem::absolute(path).c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) wrong_ = std::string("cannot load the submission: ") + dlerror();
}

template <class Entry>
Entry* Library::entry(const char* name) const {
  if (library_ == nullptr) throw std::runtime_error(wrong_);
  void* const found = dlsym(library_, name);
  if (found == nullptr) throw std::runtime_error(path_.string() + " has no " + name);
  return reinterpret_cast<Entry*>(found);
}

const Adapter& Library::adapter() const {
  return entry<decltype(course_adapter)>("course_adapter")();
}

const LessonBlocks& Library::blocks() const {
  return entry<decltype(course_blocks)>("course_blocks")();
}

}  // namespace course
