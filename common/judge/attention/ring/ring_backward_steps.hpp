#pragma once

#include <optional>

#include "judge/attention/ring/ring_mask.hpp"
#include "judge/task.hpp"

/// Attention's backward pass round a ring with steps of it done wrong, or none.
namespace course::ring_backward {

/// Where dk and dv change places.
enum class Swapped {
  Nowhere,
  AtTheEnd,
  EveryHop,
  LastHop,      ///< the hop home
  OtherHops,    ///< every hop but that
  OwnShare,     ///< in the share of the own block alone
  OtherShares,  ///< in the shares of all blocks but the own
};

/// Which of the ranks' shares are in a block's dk and dv, among several ranks.
enum class Shares { All, OwnLost, OwnTwice, LastLost };

/// What a message brings where dk and dv belong.
enum class Brought {
  Both,     ///< as it should be
  DkTwice,  ///< dk comes for dv, too
  DvTwice,  ///< dv comes for dk, too
  DvForDk,  ///< dv comes where dk did, and nothing for dv
};

/// D of the queries. By query: laid out [queries, heads] and read as [heads, queries]. For lse: each of the
/// two in the other's place.
enum class Delta { Right, LeftOut, OfFirstHead, ByQuery, ForLse };

/// What a share is computed on, where it should be zeros.
enum class Leftover {
  None,
  Sum,     ///< the sum that was computed there two steps before: two rooms take turns
  Shares,  ///< all shares so far: one room for all steps
};

/// Shares are computed in a room of their own and added to the block's sum from there: whether that is done
/// for a block that the rank skips, too, whose share is then what the room still holds.
enum class SkippedBlocks {
  GetNothing,       ///< as it should be
  GetLastShare,     ///< the share of the last block that was not skipped; the room was cleared before that
  GetLastOnOthers,  ///< the same, but the room was cleared only as far as that block reaches, so that behind
                    ///< it stands an older share
};

/// What is returned for dk and dv. Of the pair that the last hop leaves: the gradients received, a rank's
/// own, and those sent, the next rank's. Or k and v.
enum class Returned {
  Received,      ///< as it should be
  SumsOfPair,    ///< dk = the received dk + dv, dv = the sent dk + dv
  FirstsOfPair,  ///< dk = the received dk, dv = the sent dk
  KeysValues,    ///< dk = k, dv = v: these made the last hop in place of their gradients
};

/// The backward ring's steps as switches.
struct Steps {
  bool k_travels = true;
  bool v_travels = true;
  bool dk_travels = true;  ///< else it stays where it is computed
  bool dv_travels = true;
  bool by_token = false;  ///< what stays is added to the own block's token by token, as far as both have them
  bool others_blocks = true;  ///< whether other ranks' blocks get shares of dk and dv
  Shares shares = Shares::All;
  int blocks = 0;                      ///< of work beyond P, not below one; none at P = 1
  bool own_again_alone = false;        ///< at P = 1 the own block is computed twice
  int gradient_hops = 0;               ///< beyond P; none at P = 1
  bool share_to_block_before = false;  ///< added to the gradients that have not been passed on yet
  bool dk_dv_overwritten = false;
  bool dq_overwritten = false;
  bool dk_dv_averaged = false;  ///< divided by P
  bool dq_averaged = false;
  double dq_start = 0;  ///< what the sums begin with
  double dk_dv_start = 0;
  Delta delta = Delta::Right;
  Swapped swapped = Swapped::Nowhere;
  Brought at_hops = Brought::Both;  ///< before the last
  Brought at_home = Brought::Both;  ///< by the last
  Leftover leftover_dk = Leftover::None;
  Leftover leftover_dv = Leftover::None;
  SkippedBlocks skipped_blocks = SkippedBlocks::GetNothing;
  Returned returned = Returned::Received;
  bool own_in_room = false;  ///< whether a block's first share lies where another block's comes later
  /// What is read beyond a block in memory that is longer; without it, what lay there.
  std::optional<double> beyond = {};
  ring_mask::Steps mask = {};
};

/// dq, dk and dv by these steps from the o and lse that the student is given, computed in T.
template <class T>
Answer gradients(const Steps& steps, const Example& example);

}  // namespace course::ring_backward
