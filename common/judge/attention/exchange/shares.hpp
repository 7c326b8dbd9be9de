#pragma once

#include <functional>
#include <vector>

#include "judge/task.hpp"

/// Attention for which tokens are exchanged for heads, for the judges. The ranks that exchange are a row of
/// an example's topology: all ranks, or one row of a grid. An example's arguments heads_of, and of attention
/// kv_heads_of, have two numbers for each rank: its heads are from the first up to before the second. Several
/// ranks may have one head.
namespace course::exchange {

inline constexpr const char* by_heads = "heads_of";
inline constexpr const char* by_key_heads = "kv_heads_of";

/// By rank: which heads.
struct Ranges {
  std::vector<Index> first, last;

  void add(Index from, Index to);
  Index count(int rank) const { return last[rank] - first[rank]; }
  int ranks() const { return static_cast<int>(first.size()); }
};

/// As an example's argument, and back.
std::vector<double> as_argument(const Ranges& ranges);
Ranges ranges_of(const Example& example, const char* argument);

/// Query heads dealt out as evenly as can be, and key heads that these look at. Where a rank has no head both
/// are [0, 0).
Ranges query_shares(Index heads, int ranks);
Ranges key_shares(Index heads, Index kv_heads, int ranks);

/// With both arguments, for so many heads dealt out among the ranks of each row. The example has the argument
/// shard_tokens.
Example with_shares(Example example, Index heads, Index kv_heads);

/// The heads of all ranks, one rank's after another's, along the first axis; and which of them each rank has.
template <class T>
TensorOf<T> gathered(const TensorOf<T>& x, const Ranges& ranges) {
  std::vector<Index> which;
  for (int rank = 0; rank < ranges.ranks(); ++rank)
    for (Index head = ranges.first[rank]; head < ranges.last[rank]; ++head) which.push_back(head);
  return take(x, 0, which);
}
/// layout_of(argument)(example), as Output::layout and Task::split_layout take it.
std::function<Layout(const Example&)> layout_of(const char* argument);

}  // namespace course::exchange
