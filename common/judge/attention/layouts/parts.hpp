#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "judge/attention/layouts/layouts.hpp"
#include "judge/diagnosis/diagnose.hpp"
#include "judge/exact_task.hpp"

/// What the tasks about layouts have in common.
namespace course::layouts {

using Positions = std::vector<Index>;
using Lists = std::vector<Positions>;

/// Rows of a list a rank, -1 behind its end; a list that is longer than the row is cut.
template <class T>
Tensor64 padded(const std::vector<std::vector<T>>& lists, Index length) {
  Tensor64 rows({std::ssize(lists), length}, -1);
  for (Index rank = 0; rank < std::ssize(lists); ++rank) {
    const std::vector<T>& list = lists[rank];
    std::copy_n(list.begin(), std::min<Index>(std::ssize(list), length), rows.matrix().row(rank).begin());
  }
  return rows;
}

/// Throws std::out_of_range where the example has no such argument.
const std::vector<double>& argument(const Example& example, const char* name);

/// Of the arguments shard_tokens and positions.
Layout layout_of(const Example& example);

/// first .. last - 1; none where there are none.
Positions from_to(Index first, Index last);

/// The position of each row, when all shards lie one after another.
Positions order_of(const Layout& layout);

/// 0 1 .. P-1, P-1 .. 0, and again.
Layout boustrophedon_layout(int tokens, int ranks);

/// An exact task whose mistakes are wrong steps.
template <class Steps>
Task exact_task(std::string id, std::string function, std::vector<Output> outputs,
                std::vector<Example> (*examples)(InputGenerator&, int),
                Answer (*run)(const Steps&, const Example&), const std::vector<WrongSteps<Steps>>& wrong) {
  Task task = course::exact_task(std::move(id), std::move(function), std::move(outputs), examples,
                                 [run](const Example& example) { return run({}, example); });
  task.mistakes = mistakes_of<Steps>(run, wrong);
  task.of_family = true;
  return task;
}

}  // namespace course::layouts
