#pragma once

#include <optional>
#include <string>
#include <vector>

#include "judge/diagnosis/diagnose.hpp"

namespace course {

/// What any task about a softmax may read from a wrong answer without a name.

/// Each row's largest score, in the shape of the output lse.
using Maxima = Tensor64 (*)(const Example&);

/// Readings of an answer whose lse alone is wrong: another formula of m and l, as log(m + l). A row that has
/// seen nothing has the right lse in all of them.
std::vector<Reading> lse_formulas(Answer (*expected)(const Example&), Maxima maxima);

/// "in every wrong row o is too large by the factor by which exp(lse) is too small: ...": what connects the
/// outputs o and lse in all wrong rows of one test, or else in those of the input that is shown. Empty for a
/// task without either.
std::string o_and_lse(const Task& task, const Played& shown, const std::vector<Played>& test);

/// "wrong are the rows that begin with a masked score, and no others: 7 of the 52 rows of all inputs": what
/// sets the wrong rows of all inputs of one test apart from the right ones, where they are the rows of a
/// matrix of scores (the inputs "x" and "scores").
std::string what_wrong_rows_share(const Task& task, const std::vector<Played>& test);

/// A sum of parts, each taken a whole number of times that is not known.
struct Sum {
  std::vector<double> parts;
  double sum;
  double room;  ///< what the sum may be off by
};

/// How often each part is taken, from 0 to `most`, in all sums alike; nothing where no numbers fit them all,
/// or others might fit as well.
std::optional<std::vector<int>> times_taken(const std::vector<Sum>& sums, int most);

/// "rank 2 has the pieces of ranks 1 (twice) and 2; rank 0's is missing", of those ranks whose row is not all
/// 1; empty where all are. Of more than three such ranks the first three.
/// @param times by rank, how often it has each rank's piece
std::string pieces_words(const std::vector<std::vector<int>>& times);

}  // namespace course
