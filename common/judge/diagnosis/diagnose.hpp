#pragma once

#include <string>
#include <vector>

#include "judge/task.hpp"

namespace course {

/// How many times its tolerance an answer may be off from what a mistake or a pattern would give, which is
/// computed in another order than the student's, often in float64.
inline constexpr double mistake_factor = 8;

/// How much farther from the expected answer than from the student a mistake must lie to explain anything.
inline constexpr double clearly = 4;

/// An example that was played, with the right answer beside it.
struct Played {
  const Example* example = nullptr;
  const Outcome* outcome = nullptr;
  Answer expected;
  Answer baseline;                          ///< the task's
  std::map<std::string, double> tolerance;  ///< by output
  Answer answer;                            ///< joined outputs; empty when there are none to compare
  std::string complaint;                    ///< why there are none: crash, deadlock, wrong shape
  Answer rounding = {};                     ///< the task's; empty where it has none
};

Played compare(const Task& task, const Example& example, Answer expected, const Outcome& outcome);

/// Throws std::logic_error when an answer may be off by more than the task may allow on any example.
void require_sharp(const Task& task, const Played& played);

/// Whether every output is within its tolerance of the expected answer.
bool is_right(const Played& played);

/// The task's outputs that are not; there is an answer.
std::vector<const Output*> wrong_outputs(const Task& task, const Played& played);

/// The mistakes that explain all that was played, right answers as well as wrong ones: those whose answer
/// equals the student's wherever there is one, and is clearly not the expected answer where the student's is
/// wrong; of those by which the function throws (Mistake::throws), the ones that throw as it did. A name is
/// earned only when one mistake is left.
std::vector<std::string> explaining_mistakes(const Task& task, const std::vector<const Played*>& all);

/// Whether a reading explains all that was played and that it admits, as above.
bool explains_all(const Task& task, const Reading& reading, const std::vector<const Played*>& all);

/// Whether this mistake may show by no wrong answer: the function throws by it, or returns right answers and
/// sends what it should not.
bool may_show_otherwise(const Task& task, const std::string& mistake);

/// By mistake, the kinds of input on which one test's wrong answers look like it and like no other, or like
/// it and otherwise only like such as would show elsewhere and do not: what is left to say where two mistakes
/// were made, or one that looks otherwise elsewhere. Large inputs are left out, and so is an answer that is
/// NaN throughout where there are numbers to be had. Nothing where these kinds are
/// fewer than half of those that came out wrong: on a few kinds, such as all tokens on one rank, unrelated
/// mistakes look alike.
std::map<std::string, std::vector<std::string>> mistakes_by_kind(const Task& task,
                                                                 const std::vector<Played>& all);

/// What one output looks like.
struct OutputLook {
  std::string mistake;
  /// The outputs that the mistake would have made wrong and that are right on every input: if it was made,
  /// then not in these.
  std::vector<std::string> right_ones = {};
};

/// By output, the only mistake whose answer is the student's in that output wherever there is one: what is
/// left to say where two mistakes were made in different outputs, or one in some of its outputs.
std::map<std::string, OutputLook> mistakes_by_output(const Task& task, const std::vector<const Played*>& all);

/// "every answer is as if the last key were missing": a change of the inputs after which the task's own
/// expected answer explains all that was played, as a mistake would, and which the witness admits. Tried are
/// the keys of attention (inputs "k" and "v", [heads, keys, head_dim]) without the last, the last of every
/// shard or the first; scores (inputs "x" and "scores") without the same, without what follows a masked one,
/// or with the other sign; matrices that are read, or read and written, column by column; and all inputs
/// rounded to bfloat16 or float16. Empty when none explains it: also where an output has as many rows as
/// there are keys, so that the expected answer changes its shape. Where no change does, the first of the
/// task's readings that decide and explain it, then the one other that does, or two between which what was
/// played does not decide.
std::string as_if(const Task& task, const Played& witness, const std::vector<const Played*>& all);

/// Of the task's readings that are told of an answer with a name the only one that explains it.
std::string reading_beside_name(const Task& task, const std::vector<const Played*>& all);

}  // namespace course
