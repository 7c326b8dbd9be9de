#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "judge/task.hpp"

/// Attention's forward pass over blocks with steps of it done wrong, or none.
namespace course::block_forward {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

/// What a sum over earlier blocks is multiplied by when a block is added to it.
enum class Rescale { Right, LeftOut, Twice, Inverted, InvertedOnceSeen, Dropped };

/// What becomes, in a block that does not raise a query's maximum, of its weights.
enum class NotRaised { Right, LeftOut, RawInO };

/// Scores are divided by the square root of this.
enum class Scale { HeadDim, KeysInBlock, AllKeys };

/// What is taken for a block's maximum.
enum class MaximumOf { Scores, FirstScore, UnscaledScores };

/// What becomes of a tile that has fewer keys than the others.
enum class ShortTile {
  Right,
  Padded,        ///< it is filled up with keys and values of zeros
  PaddedHidden,  ///< the same, and no query sees these keys
  LeftOut,       ///< its keys are not seen
};

/// The loop over blocks with its steps as switches.
struct Loop {
  Rescale l = Rescale::Right;
  Rescale o = Rescale::Right;
  double start = -infinity;              ///< of the running maximum
  bool forgets_running_maximum = false;  ///< m becomes the block's own maximum
  double rise_ignored = 0;               ///< m stays where a block's maximum is higher by no more than this
  bool without_maximum = false;          ///< m stays 0
  bool m_stored = true;                  ///< else every block finds -inf, and so does whoever makes lse
  MaximumOf maximum_of = MaximumOf::Scores;
  NotRaised not_raised = NotRaised::Right;
  bool terms_from_block_maximum = false;  ///< what a block adds counts from there
  Scale scale = Scale::HeadDim;
  bool first_block_only = false;
  Index columns_at_once = 1;      ///< in the products of q and k; what is left over is left out
  bool k_from_first_row = false;  ///< every block reads K there
  bool v_from_first_row = false;  ///< every block reads V there
  bool divide_every_block = false;
  bool terms_divided = false;  ///< what a block adds to o is divided by the new l, and what was there is not
  bool divide_at_end = true;
  bool divide_by_zero = false;  ///< where l is 0 and m is not -inf
  bool lse_without_m = false;
  bool lse_without_log = false;
  float (*exponential)(float) = std::exp;
  /// So many keys of a block are taken in at a time: what is said of blocks is then so of these tiles, and of
  /// all keys so of a block. 0: a block is taken in whole.
  Index tile = 0;
  ShortTile short_tile = ShortTile::Right;
  double hidden_score = -infinity;  ///< of keys that a query does not see
  /// So many queries go through the tiles from the first to the last that any of them sees, block by block.
  /// 0: through all.
  Index query_tile = 0;
  bool nothing_seen_apart = true;  ///< nothing is subtracted from scores while m is -inf
};

/// o and lse of an example by these steps, in blocks of its argument block. Sums overflow where float32's do.
Answer run(const Loop& loop, const Example& example);

/// What is said of some of them where a lesson has no section for them (Task::words).
const std::map<std::string, std::string>& words_of_loops();

/// The loops that are wrong in the ways that are known.
std::vector<WrongSteps<Loop>> wrong_loops();

}  // namespace course::block_forward
