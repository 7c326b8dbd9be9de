#include "demo/block_entry.hpp"
#include "player/blocks.hpp"

const course::BlockAttention* course_demo_block() {
  static const course::BlockAttention block = course::without_tiles(course_blocks().forward);
  return &block;
}

const course::TiledBlockAttention* course_demo_tiled_block() {
  return &course_blocks().forward;
}
