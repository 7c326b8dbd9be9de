#pragma once

#include <cstring>

#include "runner/launch_files.hpp"

namespace course {

/// A look at a page that this process has mapped.
inline RankSnapshot snapshot(const RankStatus& page) {
  return snapshot([&](void* bytes, std::size_t count, std::size_t offset) {
    std::memcpy(bytes, reinterpret_cast<const char*>(&page) + offset, count);
  });
}

}  // namespace course
