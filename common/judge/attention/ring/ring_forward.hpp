#pragma once

#include "judge/task.hpp"

/// Attention round a ring, for the judges: right, and wrong where a rank attends to other blocks than it
/// should.
namespace course::ring_forward {

/// q, k and v, cut into shards along axis 1; arguments shard_tokens.
Example make_example(std::string what, const Layout& layout, QKV qkv);

/// Ordinary input on shards of all kinds: equal, unequal, all tokens on one rank, `fewest_tokens` or few more
/// however many ranks, a prime number. Equal shards come first: there even a wrong idea of a block's length
/// plays to its end.
std::vector<Example> on_all_kinds_of_shards(InputGenerator& generator, int ranks, int fewest_tokens);

/// Heads in which rank 0's keys score 22, 42 and 64 less than all others, and have values as much larger; and
/// heads whose scores are all 86.75 or 83.25 and whose values are 100 and more, so that no exponential
/// overflows, and their sum, or that of the values that they weigh, does. Exposes who merges blocks himself
/// and drops what lies far below, or subtracts a maximum only beyond a threshold. Who lets m lag behind by 80
/// is right, and who takes exp(-87) for 0. Rank 0 has two tokens or more.
Example far_example(InputGenerator& generator, const Layout& layout);

/// All kinds of shards, late maxima, scores far apart or far below 0, real input, and large blocks.
std::vector<Example> examples(InputGenerator& generator, int ranks);

/// Ordinary input under causal masks: all kinds of shards, and offsets that hide keys from queries or show
/// later ones.
std::vector<Example> on_all_kinds_of_masks(InputGenerator& generator, int ranks);

/// All kinds of masks, late maxima, scores far apart or far below 0, real input, and large blocks.
std::vector<Example> masked_examples(InputGenerator& generator, int ranks);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);
std::vector<Example> hidden_masked_examples(InputGenerator& generator, int ranks);

/// Large enough for memory to be seen: blocks of half a megabyte on 8 ranks. No example in other worlds.
std::vector<Example> with_large_blocks(InputGenerator& generator, int ranks);

/// Two more blocks, a state and an output, and as much again for what MPI itself takes.
std::int64_t memory_limit(const Example& example);

/// A function of q, k, v and shard_tokens that gives o [heads, queries, head_dim] and lse [heads, queries] of
/// a rank's queries. Mistakes: one_block_short, own_block_again, own_block_every_time, v_left_behind,
/// one_room_for_k_and_v, k_and_v_swapped, receives_over_the_send_buffer.
Task task(std::string id, std::string function);

/// The same under the causal mask of an argument offset (ring_mask.hpp), of a function that is given a block
/// computation with ranges of keys. Further mistakes: those of ring_mask::wrong_steps() and
/// empty_block_computed.
Task masked_task(std::string id, std::string function);

/// What a ring of blocking calls is held to. Mistakes: world_communicator, wrong_direction, useless_last_hop,
/// owner_off, hop_skipped, empty_rank_leaves and those of checks::blocking_ring.
std::vector<CommunicationCheck> blocking_checks();

}  // namespace course::ring_forward
