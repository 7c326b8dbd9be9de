#pragma once

#include "judge/task.hpp"
#include "reference/mask.hpp"

/// Attention's backward pass over blocks with steps of it done wrong, or none.
namespace course::block_backward {

/// How the weights go wrong.
enum class Weights {
  Right,
  BlockMaximum,              ///< exp(s - m), m the block's maximum
  RowMaximum,                ///< exp(s - m), m the row's maximum
  NanInMaskedRow,            ///< -inf - (-inf)
  NothingHidden,             ///< all keys seen, but masked rows are left out
  MaskedRowsToo,             ///< all keys seen: exp(s - (-inf)) in a masked row
  FirstIgnored,              ///< all keys seen up to the last that is
  FirstKeyLess,              ///< of those that a query sees in all blocks the first is hidden
  OneKeyLess,                ///< of those that a query sees in a block the last is hidden
  OneKeyLessOfAll,           ///< the same of those that it sees in all blocks
  OneKeyMore,                ///< in each block one more is seen than should be, where the block has one
  OneKeyMoreOfAll,           ///< the same in all blocks together
  CountedPerBlock,           ///< the keys that are seen are counted from each block's first one
  LessBlockNumber,           ///< the same, less the number of the block
  UnscaledScores,            ///< exp(s sqrt(d) - lse)
  LseScaled,                 ///< exp(s - lse / sqrt(d))
  LseNotInBase2,             ///< exp2(s log2(e) - lse)
  HiddenScoresZero,          ///< keys that are not seen have the score 0, in masked rows too
  HiddenScoresZeroIfNotAll,  ///< the same, but masked rows are left out
};

/// How D goes wrong.
enum class Delta { Right, LeftOut, Added, OfBlock, OfBlockSoftmax, Mean, FirstColumn, Unweighted };

/// What dv multiplies d_o with.
enum class DvFactor { Weights, ScoreGradients, ScaledScoreGradients };

/// Of which sums the keys or the queries are left out whose tile is not full.
struct Dropped {
  bool keys_of_dq = false;
  bool keys_of_dk_dv = false;
  bool queries_of_dq = false;
  bool queries_of_dk_dv = false;
};

/// How a walk from tile to tile goes wrong: its sums are added after each tile and not once, behind the last;
/// or it ends at a tile that nobody sees, or at the first one behind tiles that somebody sees.
enum class Walk { Right, AddsEveryTile, AddsEverySeenTile, EndsAtUnseenTile, EndsBehindSeenTiles };

/// The backward pass with its steps as switches.
struct Steps {
  Weights weights = Weights::Right;
  Delta delta = Delta::Right;
  double d_lse = 1;              ///< the factor that d_lse enters with
  bool d_lse_outside = false;    ///< it is added to what p multiplies
  bool diagonal = false;         ///< ds = p (1 - p) dp, an elementwise function's
  bool dp_from_k = false;        ///< dp = d_o k^T
  bool ds_from_scores = false;   ///< ds = s (dp - D)
  bool root_of_queries = false;  ///< the scale is one over the root of the number of queries
  int dp_scales = 0;             ///< how often 1/sqrt(d) is applied to dp, and not to D
  DvFactor dv_factor = DvFactor::Weights;
  int dq_scales = 1;  ///< how often 1/sqrt(d) is applied
  int dk_scales = 1;
  bool dq_from_q = false;
  bool dk_from_k = false;
  Index tile = 0;  ///< a block is worked on so many queries and keys at a time; 0: all of it at once
  Dropped dropped = {};
  /// Queries that see beyond a block also see the zeros that fill up its last tile.
  bool padding_seen = false;
  /// exp is taken of hidden scores, too, and multiplied by 0: NaN where it overflows float32. Not where a
  /// query sees no key; there `weights` decides.
  bool hidden_times_zero = false;
  bool dv_transposed = false;  ///< p where its transpose belongs, within a tile
  bool dk_transposed = false;
  bool dq_transposed = false;
  bool dq_overwritten = false;       ///< only the last block of keys gives a share
  bool dk_dv_overwritten = false;    ///< only the last block of queries
  Walk along_keys = Walk::Right;     ///< for dq
  Walk along_queries = Walk::Right;  ///< for dk and dv
  bool dk_in_first_rows = false;     ///< every block's share is added to the rows from the first on
  bool dv_in_first_rows = false;
  double ragged_fill = 0;  ///< what dk and dv of a last, shorter block's keys are; 0: their sums
  double dq_start = 0;     ///< what the sums begin with
  double dk_dv_start = 0;
};

/// ds of rows by themselves, from p, dp and d_lse.
Answer row_gradients(const Steps& steps, const Example& example);

/// dq, dk and dv under `mask` from what the student is given, lse and o included, computed in T.
template <class T>
Answer gradients(const Steps& steps, const Example& example, const reference::Mask& mask);

}  // namespace course::block_backward
