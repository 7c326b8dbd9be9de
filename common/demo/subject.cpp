#include "demo/subject.hpp"

#include <dlfcn.h>

#include "demo/failure.hpp"

namespace course::demo {

namespace {

void* find_entry(const std::filesystem::path& library, const char* name) {
  void* loaded = dlopen(std::filesystem::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) throw InputError(std::string("cannot load ") + dlerror());
  void* entry = dlsym(loaded, name);
  if (entry == nullptr)
    throw InputError(library.string() + ": has no " + name + ", expected a lesson's shared object");
  return entry;
}

}  // namespace

Subject load_subject(const std::filesystem::path& ring, const std::filesystem::path& block) {
  const auto make_block =
      reinterpret_cast<decltype(&course_demo_block)>(find_entry(block, "course_demo_block"));
  return {reinterpret_cast<decltype(&course_demo_ring)>(find_entry(ring, "course_demo_ring")), *make_block()};
}

}  // namespace course::demo
