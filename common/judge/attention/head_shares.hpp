#pragma once

#include <string>
#include <vector>

#include "judge/attention/grouped/grouped.hpp"
#include "judge/task.hpp"

/// Attention for which tokens are exchanged for heads, for the judges: which heads each rank has of all
/// tokens. An example's arguments heads_of, and of attention kv_heads_of, have two numbers for each rank: its
/// heads are from the first up to before the second. Several ranks may have one head.
namespace course::head_shares {

inline constexpr const char* by_heads = "heads_of";
inline constexpr const char* by_key_heads = "kv_heads_of";

/// By rank: which heads.
struct Ranges {
  std::vector<Index> first, last;

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

/// The heads of all ranks, one rank's after another's, along the first axis; and which of them each rank has.
Tensor gathered(const Tensor& x, const Ranges& ranges);
Tensor64 gathered(const Tensor64& x, const Ranges& ranges);
/// layout_of(argument)(example), as Output::layout and Task::split_layout take it.
std::function<Layout(const Example&)> layout_of(const char* argument);

/// A tensor of which each rank sends its tokens of the ranges' heads to those ranks, or back; a token and
/// head has so many numbers.
struct Exchange {
  const char* ranges;  ///< the argument
  Index width;
  bool back = false;
};

/// The bytes that `from` has to send to `to` in these exchanges, and what it may send where every part is as
/// long as the longest of all.
std::int64_t bytes(const Example& example, const std::vector<Exchange>& all, int from, int to);
std::int64_t padded_bytes(const Example& example, const std::vector<Exchange>& all);

/// The bytes of these tensors on one rank, of all tokens and its own heads.
std::int64_t bytes_held(const Example& example, const std::vector<Exchange>& all, int rank);

/// With both arguments, for so many heads dealt out among the ranks of the argument shard_tokens.
Example with_shares(Example example, Index heads, Index kv_heads);

/// Grouped heads on this layout with the arguments heads_of, kv_heads_of, kv_heads and, for a mask by
/// position or none, causal.
Example attention_example(InputGenerator& generator, std::string what, const Layout& layout,
                          const grouped::Sizes& sizes, bool causal);

/// With a gradient d_o, and in place of q, k and v what a right forward pass keeps of them, of o and of lse,
/// by heads: kept_q, kept_k, kept_v, kept_o and kept_lse.
Example backward_example(InputGenerator& generator, Example forward);

/// Such an example with q, k, v, o and lse as they were: of a key head on several ranks the first copy.
Example with_whole_heads(const Example& example);

/// Numbers that say where they belong: head + token / 100 + col / 10000.
Tensor coded(Index heads, Index tokens, Index width);
/// "token 3 of head 2"; "no token of any head" of a number that none has.
std::string place_of(double number, Index heads, Index tokens);

/// A call of a collective other than MPI_Alltoall(v) and those that only order ranks: one finding, of the
/// first rank that made one.
std::vector<Finding> exchanges_by_alltoall_or_messages(const Example& example, const Outcome& outcome);

}  // namespace course::head_shares
