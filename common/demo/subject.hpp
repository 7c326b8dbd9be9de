#pragma once

#include "demo/block_entry.hpp"
#include "demo/options.hpp"
#include "demo/ring_entry.hpp"

namespace course::demo {

/// The code that is demonstrated. It stays loaded as long as the process lives.
struct Subject {
  decltype(&course_demo_ring) ring = nullptr;
  BlockAttention block;
  decltype(&course_demo_ring_backward) ring_backward = nullptr;  ///< null: forward only
  BlockAttentionBackward block_backward;
};

/// Throws UsageError with the loader's own words when a library cannot be loaded or lacks its entry point.
Subject load_subject(const Libraries& libraries, bool backward);

}  // namespace course::demo
