#include "demo/block_entry.hpp"
#include "player/blocks.hpp"

const course::BlockAttentionBackward* course_demo_block_backward() {
  static const course::BlockAttentionBackward block = course::without_tiles(course_blocks().backward);
  return &block;
}

const course::TiledBlockAttentionBackward* course_demo_tiled_block_backward() {
  return &course_blocks().backward;
}
