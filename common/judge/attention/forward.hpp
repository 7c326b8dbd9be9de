#pragma once

#include "judge/task.hpp"
#include "reference/mask.hpp"
#include "reference/reference.hpp"

namespace course {

/// One of an example's inputs in T.
template <class T = double>
TensorOf<T> input(const Example& example, const char* name) {
  return cast<T>(example.inputs.at(name));
}

/// The first number of one of an example's arguments.
Index integer(const Example& example, const char* name);

/// "first_query 3, keys 5", "shards {7, 4}, offset -7": these of an example's arguments, several numbers
/// of one in braces.
std::string arguments_in_words(const Example& example, const std::vector<std::string>& names);

/// A wrong answer with these of its arguments: a task's `explain`.
std::function<std::string(const Played&)> telling_arguments(std::vector<std::string> names);

/// A size of blocks of which the last is shorter by two entries at least.
Index ragged_block(InputGenerator& generator, Index tokens);

/// The keys that each query sees: the arguments first and last have those of every query, first <= j < last;
/// with the argument offset, query i sees keys 0 .. i + offset; with the arguments starts (cu_seqlens),
/// causal and window, those of its document, of these the ones up to itself unless causal is 0, and of these
/// the last `window`, 0 being no limit; without any of these, all.
reference::Mask keys_seen(const Example& example);

/// How many blocks of keys are merged: of the argument block, else as many as there are ranks.
Index merges_of(const Example& example);

/// o and lse of an example's q, k and v under its mask as if there were one rank, in float64 (expected) or
/// float32 (baseline).
template <class T>
Answer attention_answer(const Example& example);

/// Adds what some queries get from one block of keys to what they have from others.
void add_block(reference::Attention<double>& all, const reference::Attention<double>& block);

/// A function that gives o [heads, queries, head_dim] and lse [heads, queries] of attention, joined along the
/// queries; its examples and all else that a family knows of it are still to be said.
Task attention_task(std::string id, std::string function);

}  // namespace course
