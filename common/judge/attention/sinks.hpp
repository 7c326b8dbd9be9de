#pragma once

#include "judge/task.hpp"

/// What joins a softmax beside its scores: slopes of ALiBi, and each head's sink.
namespace course::sinks {

/// A function of the argument heads, several numbers, that gives the slopes of each, one after another.
Task slopes_task(std::string id, std::string function);

/// A function of a state m, l [heads, queries], o [heads, queries, width] and of sinks, a number a head, that
/// has the sinks join and gives o / l and m + log l.
Task join_task(std::string id, std::string function);

/// A function of sinks and of lse and delta [heads, queries] that gives d_sinks.
Task gradients_task(std::string id, std::string function);

}  // namespace course::sinks
