#pragma once

#include "judge/task.hpp"

/// Attention round a ring, for the judges: examples, and what a rank would compute if it attended to other
/// blocks than it should.
namespace course::ring_forward {

/// q, k and v, cut into shards along axis 1; arguments shard_tokens.
Example make_example(std::string what, const Layout& layout, QKV qkv);

/// Ordinary input on shards of all kinds: equal, unequal, all tokens on one rank, `fewest_tokens` or few more
/// however many ranks, a prime number. Equal shards come first: there even a wrong idea of a block's length
/// plays to its end.
std::vector<Example> on_all_kinds_of_shards(InputGenerator& generator, int ranks, int fewest_tokens);

/// Large enough for memory to be seen: blocks of half a megabyte on 8 ranks. No example in other worlds.
std::vector<Example> with_large_blocks(InputGenerator& generator, int ranks);

/// Two more blocks, a state and an output, and as much again for what MPI itself takes.
std::int64_t memory_limit(const Example& example);

/// Blocks that do not go round as they should: one_block_short, own_block_every_time, v_left_behind.
std::vector<Mistake> mistakes_of_moving();

/// One buffer for what is held and for what arrives: receives_over_the_send_buffer.
std::vector<Mistake> mistakes_of_one_buffer();

}  // namespace course::ring_forward
