#pragma once

#include <string>
#include <vector>

#include "judge/task.hpp"

namespace course {

/// The position of a flat index, by axis.
std::vector<Index> position_of(Index flat, const Shape& shape);

/// The indices in words: "head 1 of 3", "rows 5 to 7 of 20", "heads 0, 2 and 5 of 8". Of more than four that
/// are no run, the range that they lie in.
std::string index_words(const std::string& axis, const std::vector<Index>& ascending, Index extent);

/// The narrowest part of an output that the given entries (flat indices) all lie in: "head 1 of 3, rows 5 to
/// 7 of 20", "the shard of rank 2 of 4 (rows 10 to 14 of 20)"; empty when they lie all over it. Rows (the
/// axis that ranks' pieces are joined along) are always told, another axis only where entries scattered at
/// random would hardly keep to so few of its indices.
std::string locality(const Output& output, const Shape& shape, const std::vector<Index>& entries,
                     const Layout& layout);

/// What the wrong entries of an output have in common, in one line: what they hold instead of numbers, whose
/// place they belong in, by what factor or constant they are off, to what precision they are rounded. Only
/// what the numbers prove: numbers wrong in an unrelated way would look so less than once in a million times.
/// Empty when nothing is proven, when fewer than two entries are wrong, and when the output is right.
std::string error_pattern(const Output& output, const Tensor64& answer, const Tensor64& expected,
                          double tolerance, const Layout& layout);

/// Whether every entry is off by one factor, or one constant, or all that is wrong is right in another place,
/// as error_pattern() tells it.
bool is_one_relation(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
                     const Layout& layout);

}  // namespace course
