#pragma once

#include "ring/block_attention.hpp"

/// What the demo finds by name in the shared object of lesson 04: the block computation made of
/// lesson04::attend_block. It stays as long as the object is loaded.
extern "C" const course::BlockAttention* course_demo_block();

/// The same in that of lesson 06, made of lesson06::block_backward.
extern "C" const course::BlockAttentionBackward* course_demo_block_backward();

/// Lesson 04's in tiles: between_tiles is called after every head's next few keys.
extern "C" const course::TiledBlockAttention* course_demo_tiled_block();

/// The same of lesson 06's.
extern "C" const course::TiledBlockAttentionBackward* course_demo_tiled_block_backward();
