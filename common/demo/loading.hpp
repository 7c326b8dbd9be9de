#pragma once

#include <filesystem>

namespace course::demo {

/// What a shared object calls `name`, or null when it has nothing of the name. The object stays loaded as
/// long as the process lives. Throws UsageError with the loader's own words when it cannot be loaded.
void* find_entry(const std::filesystem::path& library, const char* name);

/// The same of a lesson's shared object. Throws UsageError with both names when it has no such entry.
void* require_entry(const std::filesystem::path& library, const char* name);

/// The same as a function or a variable of the entry's type.
template <class Entry>
Entry* require_entry(const std::filesystem::path& library, const char* name) {
  return reinterpret_cast<Entry*>(require_entry(library, name));
}

}  // namespace course::demo
