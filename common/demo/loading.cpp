#include "demo/loading.hpp"

#include <dlfcn.h>

#include <string>

#include "protocol/errors.hpp"

namespace course::demo {

void* find_entry(const std::filesystem::path& library, const char* name) {
  void* const loaded = dlopen(std::filesystem::absolute(library).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (loaded == nullptr) throw UsageError(std::string("cannot load ") + dlerror());
  return dlsym(loaded, name);
}

void* require_entry(const std::filesystem::path& library, const char* name) {
  void* const entry = find_entry(library, name);
  if (entry == nullptr)
    throw UsageError(library.string() + ": has no " + name + ", expected a lesson's shared object");
  return entry;
}

}  // namespace course::demo
