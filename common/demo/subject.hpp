#pragma once

#include <filesystem>

#include "demo/block_entry.hpp"
#include "demo/ring_entry.hpp"

namespace course::demo {

/// The code that is demonstrated. It stays loaded as long as the process lives.
struct Subject {
  decltype(&course_demo_ring) ring;
  BlockAttention block;
};

/// Throws InputError with the loader's own words when a library cannot be loaded or lacks its entry point.
Subject load_subject(const std::filesystem::path& ring, const std::filesystem::path& block);

}  // namespace course::demo
