#pragma once

#include <functional>
#include <vector>

#include "judge/task.hpp"
#include "ring/key_range.hpp"

/// Which keys of a block a rank's queries see in a ring, for the judges: right, and wrong in the ways that
/// are known. An example whose arguments have `offset` is causal: the query at position i sees the keys at
/// positions 0 .. i + offset. In another one, every query sees every key.
namespace course::ring_mask {

/// What is counted in its own shard in place of its position in the sequence.
enum class Local { Nothing, Queries, Keys, Both };

/// What the first position of a shard is taken for: a rank times a length, as if all shards had that one.
enum class FirstPosition {
  Sum,                ///< of the lengths of all ranks before it, as it should be
  TimesOwnLength,     ///< the shard's own
  TimesRanksLength,   ///< the attending rank's, for its queries and for all keys
  TimesFirstLength,   ///< rank 0's
  TimesLongestLength  ///< the longest shard's
};

/// Which blocks a rank attends to, and how.
enum class Chosen {
  ByRanges,      ///< those of which a query sees a key
  NotLater,      ///< of these, none of a later rank
  EarlierWhole,  ///< those of earlier ranks whole, its own by ranges
  /// Of these, those after so many hops as bring no later rank's block in a ring that runs the other way: the
  /// own, and after s hops of blocks that travel to rank + 1 those with s >= P - rank.
  OtherDirection,
};

/// Which keys of a block a query is shown that sees some.
enum class Taken {
  First,      ///< those up to its position
  Last,       ///< as many, counted from the block's last
  TheOthers,  ///< those behind its position
};

/// The steps from positions to ranges as switches.
struct Steps {
  bool masked = true;  ///< else every query sees all of every block
  Local local = Local::Nothing;
  FirstPosition first_position = FirstPosition::Sum;
  Index offset_factor = 1;  ///< what the offset is multiplied by
  Index shift = 0;          ///< what is added to it then
  Chosen chosen = Chosen::ByRanges;
  Taken taken = Taken::First;
  bool swapped = false;  ///< range i says which of the queries key i sees
};

/// The steps of the mistakes mask_ignored, mask_by_local_index, exclusive_diagonal, offset_ignored,
/// offset_subtracted, blocks_by_rank, rule_of_other_direction, keys_from_the_wrong_end,
/// queries_and_keys_swapped and equal_shards_assumed.
std::vector<WrongSteps<Steps>> wrong_steps();

/// The mistake of these steps. Ranges that are counted by keys are refused where a shard has another length.
Mistake mistake_of(const char* id, const Steps& steps, std::function<Answer(const Example&)> answer);

/// The keys that each query of `rank` sees of the block of rank `owner`, which is held as `keys` keys: within
/// 0 .. keys.
std::vector<KeyRange> seen(const Example& example, int rank, int owner, Index keys, const Steps& steps = {});

/// Whether it has an offset, or documents, of which keys_seen() knows.
bool is_masked(const Example& example);

/// Whether a query of `rank` sees a key of rank `owner`.
bool is_seen(const Example& example, int rank, int owner);

/// Recognised: ranks wait for one that has finished, that owns tokens, and that sees nothing of some block
/// with tokens. Who skips the work on a block and with it the hop has sent less than others wait for.
bool skipped_a_hop(const Example& example, const Deadlock& deadlock);

/// The same example under a causal mask.
Example with_offset(Example example, Index offset);

/// An offset at which the first rank that has tokens sees nothing while another one does; alone, at most half
/// of the queries.
Index offset_that_hides(InputGenerator& generator, const Layout& layout);

}  // namespace course::ring_mask
