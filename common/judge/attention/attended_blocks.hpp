#pragma once

#include <functional>
#include <string>
#include <vector>

#include "judge/checks/communication_checks.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "protocol/block_log.hpp"

/// Reads the players' logs beside the shards that they were given: whose keys and values were attended to
/// when.
namespace course::log_reading {

/// The rank whose block is with `rank` after so many hops to rank + 1.
int holder(int rank, int hop, int world_size);

/// The same in the direction in which the example's ring runs.
inline int holder(const Example& example, int rank, int hop) {
  return example.ahead(rank, -hop);
}

/// The rank whose block as many hops to rank - 1 bring as it takes the owner's block to rank + 1.
int holder_of_other_direction(int rank, int owner, int world_size);

/// Whether a rank has to attend to a block: one that has tokens, or under a mask one that its queries see.
bool is_needed(const Example& example, int rank, int owner);

/// Where to look when every rank was given the right blocks and the answer is wrong; may be empty.
using BlocksRight = std::function<std::string(const Played&)>;

/// A wrong answer in words, as a task's `explain`: the earliest block that was not what it should be; under a
/// mask, where ranks leave blocks out and calls are no hops, the blocks that a rank attended to and should
/// not have, or the other way round, or ranges of too many or too few keys; `blocks_right` where nothing of
/// this is wrong.
std::function<std::string(const Played&)> explaining(BlocksRight blocks_right);

/// The same task, which looks at the blocks that a ring gives to accumulate: whose they are, and how often;
/// where its queries do not see every key (`masked`), also whether a query sees any of them.
Task looked_at(Task task, BlocksRight blocks_right, bool masked = false);

/// What a block's gradients still held of an earlier block when their computation was given them: "rank 1,
/// block of rank 0: block.accumulate was given dv that is not 0 at [head 0, row 3, col 0], in memory where
/// the block of rank 2 was computed before". Empty where nothing did, or the player did not look.
std::string leftover(const Example& example, const Outcome& outcome);

/// Whether every rank was given all blocks, each as it should be and in its turn.
bool attended_to_all(const Example& example, const Outcome& outcome);

/// Whether a rank attended to more blocks than there are ranks.
bool attended_to_more_than_all(const Example& example, const Outcome& outcome);

/// The owner named for a block is another rank than the one whose keys and values they are.
std::vector<Finding> names_the_owners(const Example& example, const Outcome& outcome);

/// Whether every rank sent 1/part of the bytes of so many hops of two tensors, each message as long as its
/// block or as the largest.
bool sent_bytes_of_hops(checks::Hops hops, const Example& example, const Outcome& outcome, Index part = 1);

/// A rank was given a block that is nobody's, and every rank has sent the same fraction of the bytes of so
/// many hops of two tensors, 1/heads, 1/head_dim or 1/4: the counts of the messages leave out a factor.
CommunicationCheck sends_whole_blocks(checks::Hops hops);

/// A rank with a right answer called the block computation more often than there are blocks: with a state
/// that nobody needs, or to hide a transfer. No mistake is named.
std::vector<Finding> gives_each_block_once(const Played& played);

/// A block was given to accumulate with ranges that have no key: empty_block_computed. Says nothing of a
/// wrong answer, whose ranges may be wrong.
std::vector<Finding> gives_no_empty_block(const Played& played);

}  // namespace course::log_reading
