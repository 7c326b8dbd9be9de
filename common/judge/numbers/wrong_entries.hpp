#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/numbers/known_factors.hpp"
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

/// "o is 0 everywhere", "o is 0 in all of rank 1 of 3", "... of heads 0 and 2 of 4": that a wrong output, all
/// of some ranks or all of some heads, is 0 and should not be. Empty otherwise. Of whole numbers a part may
/// well be 0, and only the whole is told.
std::string zeros(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
                  const Layout& layout);

/// What the wrong entries of an output have in common, in one line: what they hold instead of numbers or of
/// -inf, whose place they belong in, by what factor or constant they are off, to what precision they are
/// rounded. Only what the numbers prove: numbers wrong in an unrelated way would look so less than once in a
/// million times. Empty when nothing is proven, when fewer than two entries are wrong, when zeros() says it
/// all, and when the output is right.
/// @param known what a factor may be: told beside it
std::string error_pattern(const Output& output, const Tensor64& answer, const Tensor64& expected,
                          double tolerance, const Layout& layout, const std::vector<KnownFactor>& known = {});

/// The factor that every entry is off by; of a log-sum-exp that is off by one constant, the factor that its
/// sum is too large or too small by. Nothing where there is none, and where so large an lse has too few
/// digits for it.
std::optional<double> factor_throughout(const Output& output, const Tensor64& answer,
                                        const Tensor64& expected, double tolerance, const Layout& layout);

/// Whether every entry is off by one factor, or one constant, or all that is wrong is right in another place,
/// as error_pattern() tells it.
bool is_one_relation(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
                     const Layout& layout);

}  // namespace course
