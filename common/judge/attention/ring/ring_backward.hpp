#pragma once

#include <string>
#include <vector>

#include "judge/attention/attended_blocks.hpp"
#include "judge/task.hpp"

/// Attention's backward pass round a ring, for the judges: right, and wrong in the ways that are known.
namespace course::ring_backward {

/// q, k, v and the d_o that arrives, cut into shards along axis 1, with o and lse as a forward pass in
/// float64 gives them, rounded; arguments shard_tokens. Every query sees every key.
Example make_example(std::string what, const Layout& layout, QKV qkv, Tensor d_o);

/// A forward example with this d_o, or a random one, and with its o and lse.
Example with_gradient(Example forward, Tensor d_o);
Example with_gradient(InputGenerator& generator, Example forward);

/// Real q, k, v and d_o of these heads, from a token drawn on; every `every`-th query times q_factor.
Example real_example(InputGenerator& generator, std::string what, const Layout& layout,
                     const std::vector<Index>& heads, Index every = 1, float q_factor = 1);

/// Shards of all kinds, steep queries, scores far below 0, real input, and large blocks.
std::vector<Example> examples(InputGenerator& generator, int ranks);

/// All kinds of causal masks, scores far below 0, real input, and large blocks.
std::vector<Example> masked_examples(InputGenerator& generator, int ranks);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);
std::vector<Example> hidden_masked_examples(InputGenerator& generator, int ranks);

/// A function of q, k, v, o, lse, d_o and shard_tokens that gives dq, dk and dv of a rank's tokens, each
/// [heads, tokens, head_dim]. Its mistakes: wrong_steps() in ring_backward.cpp.
Task task(std::string id, std::string function);

/// The same under the causal mask of an argument offset (ring_mask.hpp), of a function that is given a block
/// computation with ranges of keys. Further mistakes: those of ring_mask::wrong_steps(),
/// share_of_skipped_block and empty_block_computed.
Task masked_task(std::string id, std::string function);

/// Where to look when blocks are right and gradients are not: `of_dk_and_dv` where these alone are wrong,
/// among several ranks; after what an earlier block left in them, if there is such a thing, `of_leftover`; at
/// dq where that is one block's share alone; at delta where dv alone is right.
log_reading::BlocksRight where_to_look(std::string of_dk_and_dv, std::string of_leftover);

/// Of a ring in which every share of dk and dv is computed on zeros, where dk or dv alone are wrong: one was
/// computed on what an earlier block had left. Mistake: share_not_cleared.
std::vector<Finding> begins_shares_at_0(const Played& played);

/// What a ring of blocking calls that answers `task` is held to. Mistakes: world_communicator,
/// sends_to_itself_alone, wrong_direction, useless_last_hop, owner_off, hop_skipped, empty_rank_leaves and
/// those of checks::blocking_ring.
std::vector<CommunicationCheck> blocking_checks(const Task& task);

}  // namespace course::ring_backward
