#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/task.hpp"

namespace course {

/// The norm of `answer - expected` over the norm of `expected`, the worst of the groups of the first axis
/// (heads, rows): [heads, rows, cols] has a group for each head and [rows, 1] one for each row, which is then
/// an entry by itself; a tensor of one axis is one group, in which a small entry may be off by much of
/// itself. An entry that is NaN or infinite must be so in both, else the error is infinite. Where the
/// expected answer's norm is 0 (masked rows), any difference at all is an infinite error.
double relative_error(const Tensor64& answer, const Tensor64& expected);

/// The same over the larger norm of `expected` and `scale`, which has its shape: where `expected` cancels to
/// next to nothing, float32 leaves rounding of the size of the terms.
double relative_error(const Tensor64& answer, const Tensor64& expected, const Tensor64& scale);

/// The same of what a mistake computes in float64, `mistaken`, as `expected`. Where it is finite and above
/// 1e30, the answer may be infinite or NaN.
double error_as_mistake(const Tensor64& answer, const Tensor64& mistaken, const Tensor64& scale);

/// How far a right float32 answer may be from the expected answer on this example: a multiple of the float32
/// baseline's own error, and not less than a few roundings. Throws std::invalid_argument when the baseline
/// has another shape or an infinite error: every answer would pass.
double tolerance(const Tensor64& baseline, const Tensor64& expected);

/// The same, and not less than a multiple of what rounding costs any right answer, since a baseline may be
/// near the expected answer by luck. Throws std::invalid_argument, too, where the expected norm is 0 and that
/// of the rounding is not: right answers would fail.
/// @param rounding of each entry the root mean square of what float32 rounds off it (rounding.hpp)
double tolerance(const Tensor64& baseline, const Tensor64& expected, const Tensor64& rounding);

/// The same of the relative errors of the two: of the float32 baseline, and the root mean square of what is
/// rounded off.
double tolerance(double baseline_error, double rounding_error);

/// How many times its own error a right answer may be off where a float32 baseline is, and how many times the
/// root mean square of what is rounded off.
inline constexpr double baseline_factor = 8;
inline constexpr double deviations = 6;

/// Of every entry, the root mean square of its group (see relative_error); 0 where no entry of it is finite.
std::vector<double> typical_magnitudes(const Tensor64& expected);

/// How far every entry is off, as a part of its typical magnitude: 0 in a group whose error is within the
/// tolerance, infinite where one of the two is no number and the other is something else, and where the
/// group's expected is 0. An entry that is off by more than the tolerance is a wrong one.
std::vector<double> off_by(const Tensor64& answer, const Tensor64& expected, double tolerance);

/// Where and by how much an output is wrong whose relative error is above the tolerance, in words:
/// "rank 1: o[head 0, row 17, col 4] is 0.31, should be 0.47", the relative error by rank (of whole
/// numbers none), how many entries are wrong and where they lie.
std::string locate(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
                   const Layout& layout);

/// The same output's entries around the worst one, beside what is right: a line each, wrong ones marked.
std::string side_by_side(const Output& output, const Tensor64& answer, const Tensor64& expected,
                         double tolerance, const Layout& layout);

}  // namespace course
