#pragma once

#include <map>
#include <string>
#include <vector>

#include "judge/diagnosis/diagnose.hpp"
#include "reference/reference.hpp"

namespace course {

/// Attention's inputs, and the gradients that arrive at its outputs.
struct AttentionProblem {
  Tensor64 q, k, v;  ///< [heads, queries, d], [heads, keys, d] twice
  Tensor64 d_o;      ///< [heads, queries, d]
  Tensor64 d_lse;    ///< [heads, queries]
  reference::Mask mask;
};

/// An example's q, k, v and d_o with these.
AttentionProblem problem_of(const Example& example, Tensor64 d_lse, reference::Mask mask);

/// Reads an example.
using ProblemOf = std::function<AttentionProblem(const Example&)>;

/// A function that gives dq, dk and dv, each [heads, tokens, head_dim], joined along the tokens: held to the
/// reference's gradients of an example's `problem` and to the checks of gradients. Its examples, baseline and
/// mistakes are still to be said.
Task gradients_task(std::string id, std::string function, const ProblemOf& problem);

/// A gradient's tolerance must be far below its own norm, or zeros would pass.
inline constexpr double largest_gradient_tolerance = 3e-2;

template <class T>
Answer as_answer(const reference::AttentionGradients<T>& gradients) {
  return {{"dq", cast<double>(gradients.dq)},
          {"dk", cast<double>(gradients.dk)},
          {"dv", cast<double>(gradients.dv)}};
}

/// dq, dk and dv by the reference.
Answer right_gradients(const AttentionProblem& problem);

/// Of dq, dk and dv the root mean squares of what float32 rounds off: a task's rounding.
Answer rounding_of_gradients(const AttentionProblem& problem);

/// How far dq, dk and dv may be from the expected answer: for each head the norm of the difference.
using GradientSlack = std::map<std::string, std::vector<double>>;

/// `relative` errors of the expected answer's norms, head by head.
GradientSlack slack_of(const Answer& expected, const std::map<std::string, double>& relative);

/// Which of the four identities `gradients` break by more than `slack` can explain, one line each:
///   sum_j dk_j = sum_i d_lse_i q_i / sqrt(d)   softmax does not change when all keys move alike; lse moves
///   sum_j dv_j = sum_i d_o_i                   weights sum to 1; over the queries that see a key
///   <dq, q> = <dk, k>                          scores are bilinear in q and k
///   <dv, v> = <d_o, o>                         o is linear in v
/// A factor that is wrong in dq and dk alike breaks none of them.
std::vector<std::string> broken_identities(const AttentionProblem& problem, const Answer& gradients,
                                           const GradientSlack& slack);

/// Which of dq, dk and dv disagree with central differences of sum(o * d_o) + sum(lse * d_lse), taken in
/// float64 along one direction of random signs for each, one line each. Needs the forward pass only.
std::vector<std::string> broken_differences(const AttentionProblem& problem, const Answer& gradients,
                                            const GradientSlack& slack);

/// The outputs dq, dk and dv, joined over all ranks, break an identity or disagree with central differences.
/// Neither needs a gradient of the reference; only how much they may be off by is measured against its norm.
AnswerCheck passes_gradient_checks(ProblemOf problem);

/// On some rank dq, dk or dv is further from the expected answer than float32 explains, measured against what
/// it rounds off on that rank. The comparison with the expected answer's own norm, over all ranks, does not
/// see a rank whose gradients are a small part of their head's. Silent where that comparison fails already.
/// For tasks that say what is rounded off.
std::vector<Finding> is_right_on_every_rank(const Played& played);

}  // namespace course
