#pragma once

#include <set>
#include <string>
#include <vector>

#include "judge/diagnosis/diagnose.hpp"

namespace course {

/// What the inputs of one test, looked at together, say of a failure.

/// Whether the expected answer has a number that could be wrong: one that is finite and not 0.
bool has_number(const Played& played);

/// The one whose input a person works through fastest: the fewest numbers among those without anything
/// special, which is a rank without rows, a number that is infinite or far from 0, an answer without a number
/// that could be wrong. Where `relations` are asked for, before these those whose error is too large for
/// rounding, and then first those whose wrong answer is off by one factor or one constant throughout, or
/// right in another place, after these those on which few mistakes look alike (wrong entries are numbers,
/// special rows have more than two columns), and up to twice as many numbers are as many. Of equals the
/// first. None of these may be null, and there is one at least.
const Played* simplest(const Task& task, const std::vector<const Played*>& failed, bool relations);

/// "lse is right on every input; every wrong entry of o, on whatever input, is too large, by 0.1 to 0.7":
/// what is right beside the shown input's wrong outputs, and to which side those are off where it is the same
/// side on every input, or what they are, "is -100", where all are the same. Of one input alone, as when it
/// is replayed, nothing is said of others. Empty where there is neither.
std::string right_and_side(const Task& task, const Played& shown, const std::vector<Played>& all);

/// "wrong is the last rank, and no other, on every wrong input": of outputs with a number a rank, where it is
/// the first or the last on every wrong input of three ranks or more, and there are two of these. Else empty.
std::string one_wrong_rank(const Task& task, const std::vector<Played>& all);

/// "right on: one key; no keys": the kinds of input that pass, or those that fail, where they are fewer
/// words. Up to three lines, those first whose names are most like one that fails. Empty where none passes.
std::string kinds_that_pass(const std::vector<Played>& all, const std::set<const Played*>& failed);

}  // namespace course
