#pragma once

#include "ring/block_attention.hpp"

/// What the demo finds by name in the shared object of lesson 04: the block computation made of
/// lesson04::attend_block. It stays as long as the object is loaded.
extern "C" const course::BlockAttention* course_demo_block();
