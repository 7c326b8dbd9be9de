#pragma once

#include "judge/task.hpp"

/// Attention by a kernel that takes the state (m, l, o) and gives it back, once a block of keys, for the
/// judges: the forward pass, right, and wrong in the ways that are known. Inside, a kernel takes queries and
/// keys in tiles whose sizes are its own: its mistakes are looked for with tiles of many sizes.
namespace course::state_forward {

/// A function of a state m, l [heads, queries] and o [heads, queries, head_dim] that gives o, divided by l,
/// and lse. Mistakes: lse_without_m, lse_without_log, lse_base_2, final_division_missing, nothing_seen_nan.
Task finish_task(std::string id, std::string function);

/// A function of q, k, v and block, as block_forward's, that takes the state from block to block. Mistakes:
/// those of block_forward, of tiles, and ragged_block_dropped, hidden_keys_take_part, state_not_read,
/// normalised_block_added, m_in_other_units, wrong_head, grid_of_full_tiles.
Task block_task(std::string id, std::string function);

/// The same under ranges of keys, the arguments first and last of each query. Further mistakes:
/// nothing_seen_nan, range_ignored, range_off_by_one, range_of_first_queries, tiles_of_one_query.
Task range_task(std::string id, std::string function);

/// What only a grade plays; not in a handout.
std::vector<Example> hidden_examples(InputGenerator& generator, int ranks);
std::vector<Example> hidden_range_examples(InputGenerator& generator, int ranks);

// The examples of the tasks.
std::vector<Example> states(InputGenerator& generator, int ranks);
std::vector<Example> examples(InputGenerator& generator, int ranks);
std::vector<Example> range_examples(InputGenerator& generator, int ranks);

/// `example` with a range of keys for every query.
Example with_ranges(Example example, const std::vector<int>& first, const std::vector<int>& last);
/// Ranges drawn at random: some empty, some reversed, some beyond the keys. The first query sees all.
Example with_drawn_ranges(InputGenerator& generator, Example example);

}  // namespace course::state_forward
