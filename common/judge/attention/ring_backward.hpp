#pragma once

#include <set>
#include <string>
#include <vector>

#include "judge/attention/gradient_checks.hpp"
#include "judge/task.hpp"

/// Attention's backward pass round a ring, for the judges: right, and wrong in the ways that are known.
namespace course::ring_backward {

/// q, k, v and the d_o that arrives, cut into shards along axis 1, with o and lse as a forward pass in
/// float64 gives them, rounded; arguments shard_tokens.
Example make_example(std::string what, const std::vector<int>& shard_tokens, QKV qkv, Tensor d_o);

/// A forward example's q, k and v with a random d_o.
Example with_gradient(InputGenerator& generator, Example forward);

/// Real q, k, v and d_o of these heads, from a token drawn on; every `every`-th query times q_factor.
Example real_example(InputGenerator& generator, std::string what, const std::vector<int>& shard_tokens,
                     const std::vector<Index>& heads, Index every = 1, float q_factor = 1);

/// The same as a problem for the gradient checks; lse has no gradient of its own.
AttentionProblem problem(const Example& example);

/// dq, dk and dv in float64, by the reference.
Answer expected(const Example& example);

/// Whether dk and dv go on from rank to rank.
enum class Gradients { Travel, StayWhereComputed };

/// Where dk and dv change places.
enum class Swapped { Nowhere, AtTheEnd, EveryHop };

/// What is read beyond a block in a room that is longer.
enum class Beyond { WhatLayThere, Zeros, Nan };

/// What is returned for dk and dv, of the pair that the last hop leaves: the gradients received, a rank's
/// own, and those sent, the next rank's.
enum class Returned {
  Received,      ///< as it should be
  SumsOfPair,    ///< dk = the received dk + dv, dv = the sent dk + dv
  FirstsOfPair,  ///< dk = the received dk, dv = the sent dk
};

/// The backward ring's steps as switches.
struct Steps {
  bool k_travels = true;
  bool v_travels = true;
  Gradients gradients = Gradients::Travel;
  int blocks = 0;         ///< of work beyond P, not below one
  int gradient_hops = 0;  ///< beyond P; none at P = 1
  bool dk_dv_overwritten = false;
  bool dq_overwritten = false;
  bool dq_cleared = true;  ///< gradients start as NaN
  bool dk_dv_cleared = true;
  bool delta = true;  ///< false: left out
  Swapped swapped = Swapped::Nowhere;
  Returned returned = Returned::Received;
  bool own_in_room = false;  ///< whether a block's first share lies in a room that is used again later
  Beyond beyond = Beyond::WhatLayThere;
};

/// The gradients by these steps, hop by hop, from the o and lse that the student is given.
Answer run(const Steps& steps, const Example& example);

/// The same with every step right, in float32. It starts from the lse that the student is given: rounding an
/// lse of 100 costs 4e-6 of all weights of its row, which the reference, with a softmax of its own, does not
/// have.
Answer baseline(const Example& example);

/// The mistakes of a backward ring that change its answer, of these ids.
std::vector<Mistake> mistakes(const std::set<std::string>& ids);

}  // namespace course::ring_backward
