#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace course {

/// Mixes the bits of x: numbers that differ in one bit give such as have nothing in common. Source: the
/// finaliser of SplitMix64, Steele et al. 2014.
std::uint64_t mixed(std::uint64_t x);

/// Random numbers that are the same for the same seed with every compiler and standard library, up to the
/// last bit of std::log and std::cos: only std::mt19937_64 itself is used, whose output the C++ standard
/// fixes, and none of the standard's distributions.
class InputGenerator {
 public:
  explicit InputGenerator(std::uint64_t seed) : seed_(seed), generator_(seed) {}

  /// From low to high, both included, equally likely up to 1 in 2^32. Throws std::invalid_argument with both
  /// when low > high.
  int integer(int low, int high);

  /// From low (included) to high (excluded, up to rounding), in steps of 2^-53 of the range.
  double uniform(double low, double high);

  /// Mean 0, standard deviation 1. Source: Box & Muller 1958.
  double normal();

  /// Independent normal entries of mean 0 and standard deviation `scale`.
  Tensor normal(Shape shape, float scale = 1);

  /// Independent entries from low to high.
  Tensor uniform_tensor(Shape shape, double low, double high);

  /// A generator of its own for one purpose. It depends on this one's seed and the label alone, not on what
  /// has been drawn: a draw added in one place changes nothing elsewhere. The same label gives the same one.
  InputGenerator fork(std::string_view label) const;

 private:
  std::uint64_t seed_;
  std::mt19937_64 generator_;
};

/// One of `choices`, of which there must be one, each equally likely.
int one_of(InputGenerator& generator, const std::vector<int>& choices);

/// Shard lengths for a ring, 2 to 7 tokens each and not all alike from 2 ranks on; from 3 ranks on one shard
/// holds a single token, and from 4 on another is empty.
std::vector<int> unequal_shards(InputGenerator& generator, int ranks);

/// Up to 14 tokens a rank, none on one rank in four; one rank has `more` beside.
std::vector<int> any_shards(InputGenerator& generator, int ranks, int more);

/// Input for attention: q [heads, queries, head_dim], k and v [heads, keys, head_dim].
struct QKV {
  Tensor q, k, v;
};

// In every maker below heads differ: each has directions of its own, and its values a scale and a mean of
// their own. So answers that mix up heads are wrong, and so is an output that is a mean over too few keys.
// "Scores" are the scaled ones, q_i . k_j / sqrt(head_dim). queries and keys may be 0; head_dim may be 1.

/// Ordinary input. Scores have mean 0 and a standard deviation between scale / 2 and 3 scale / 2, which grows
/// from head to head. Exposes what is wrong everywhere: a missing scale, a skipped key, a wrong owner.
QKV random_qkv(InputGenerator& generator, Index heads, Index queries, Index keys, Index head_dim,
               double scale = 1);

/// The last few keys (a quarter, at least 1, at most 3) score more than 20 above all others, in every row.
/// Exposes a running sum or output that is not rescaled when the maximum grows, or the wrong way round; a
/// last block that is left out or padded; a rank that stops one hop early.
QKV late_maximum_qkv(InputGenerator& generator, Index heads, Index queries, Index keys, Index head_dim);

/// With 2 keys or more, every row has scores more than 110 apart and one above 89, so that exp of it is
/// infinite in float32. Even rows rise from the first third of the keys to the last, odd rows fall. Exposes a
/// missing maximum, a rescaling factor upside down, and a log-space merge that exponentiates a positive
/// number.
QKV wide_scores_qkv(InputGenerator& generator, Index heads, Index queries, Index keys, Index head_dim);

/// Every score lies within 2 % + 10 of `level`, and scores of one row differ by a few units, so that its
/// softmax is an ordinary one. Below -104 exp of every score is 0 in float32: exposes a maximum that starts
/// at 0 (level -150) or at -1e4 (level -2e4), zero-padded keys, and masked rows recognised by l = 0. Float32
/// resolves scores near 2e4 to 2e-3 only: take the tolerance from a float32 baseline.
QKV very_negative_qkv(InputGenerator& generator, Index heads, Index queries, Index keys, Index head_dim,
                      double level);

/// Scores [heads, keys], one for each key of a head. They are exact in float32, whatever they are multiplied
/// by on the way, where they are powers of two and head_dim is a power of four; and without rounding where
/// float32 holds them times the square root of head_dim.
using KeyScores = std::vector<std::vector<double>>;

/// Every query's scores are those of its head, or, in every second row of `both_signs`, these with the other
/// sign. One entry of q and k makes them; the others of q are 0.
QKV exact_scores_qkv(InputGenerator& generator, Index queries, Index head_dim, const KeyScores& scores,
                     bool both_signs = false);

/// Two heads of `keys` keys, one of which has all the weight: in the first head the last, in the second the
/// first. It scores `score`, a power of two with the sign -, and the others a quarter of that below it.
/// Far from 0 this is the only input on which all right answers agree: what float32 rounds off two scores
/// near -1e10 is more than their difference, and so is what it rounds off an lse. Exposes every finite number
/// that stands for -inf and lies above `score`.
///
/// How low `score` may be: -2^127 over the square root of head_dim, else q . k of the other keys is infinite.
/// A stand-in between that and -FLT_MAX is exposed by no score that all right answers can hold, since
/// exponents of 2 take 1.44 times as much.
KeyScores deciding_scores(Index keys, double score);

/// Scores of a block of `block` keys, and of a second one that scores more: head by head 86, 88.875, 96 and
/// 103 more, and from 96 on 86 more. exp overflows at 88.72, and 16 times exp(86), too. Exposes a maximum
/// that is only followed when it has risen by more than a threshold, where that is too high: 80 is right, 89
/// is not; in the last head, where it starts at 0, too.
KeyScores risen_scores(Index block);

/// Scores of 128 keys, in blocks of 64, none above 88, whose exponentials add up to more than float32 holds,
/// which is e^88.72: head by head those of a block near 85, of 3 keys near 87.75, and of both blocks
/// near 84.25. Those of few keys stand among zeros. Exposes a maximum that is subtracted only beyond a
/// threshold: no exponential overflows, their sum does.
KeyScores full_scores();

/// Scores of 128 keys, in blocks of 64, which all but one lie 13 below that one: in the first head it comes
/// last, in the second first. Exposes that what lies far below the maximum is left out, or forgotten when
/// that grows: of each key it is next to nothing, of all of a block it is not.
KeyScores outweighed_scores();

/// 16 keys. In three heads all but the first score 22, 42 and 64 less than that and have values as much
/// larger, so that they count as much as it does: exposes that what lies far below the maximum is dropped. In
/// the fourth head all score 86, and their lse is 88.77: exp of it overflows. Who lets a maximum lag behind
/// by 80 is right, and who takes exp(-87) for 0. head_dim is as in exact_scores_qkv().
QKV large_values_qkv(InputGenerator& generator, Index queries, Index head_dim);

/// 24 keys that score 7.5 more, each, than the one before, up to 150 in all; and in the second head three
/// steps of 60. Exposes a threshold that a block's maximum is held against the block's before it, not against
/// the maximum that is subtracted.
KeyScores climbing_scores();

/// Real input: tokens first_token .. first_token + tokens - 1 of the given heads (0 to 11) of a sentence
/// encoder's first layer, 512 tokens in all, head_dim 32 (see data/README.md), with q multiplied by q_factor.
/// Scores span up to 129 in a row; a factor of 2 makes the maximum matter in float32. Throws
/// std::out_of_range for tokens or heads that are not there, std::invalid_argument for no heads.
QKV minilm_qkv(Index first_token, Index tokens, const std::vector<Index>& heads, float q_factor = 1);

/// Two different ones of the sentence encoder's heads.
std::vector<Index> two_real_heads(InputGenerator& generator);

/// The real gradient that arrives at the output of those tokens and heads, [heads, tokens, 32]. It is small:
/// its largest entry is 4.5e-3 (see data/README.md).
Tensor minilm_d_o(Index first_token, Index tokens, const std::vector<Index>& heads);

/// The scaled scores of the first head's `queries` with all of its keys, [queries, keys].
Tensor scores_of(const QKV& qkv, const std::vector<Index>& queries);

// Score matrices [rows, cols] for the softmax lessons. rows and cols may be 0.

/// Ordinary input: normal entries.
Tensor score_rows(InputGenerator& generator, Index rows, Index cols);

/// Rows in turn, from a random one of these on: all -inf; a run of at least half the row, from its start,
/// -inf; every entry -inf with probability 1/2; nothing masked. So 4 rows hold all four kinds. The second and
/// third kind keep one entry at least, and with 2 columns or more mask one at least. Exposes NaN from
/// -inf - (-inf) on a masked row or on a first block that is masked, and a masked weight that is not 0.
Tensor masked_rows(InputGenerator& generator, Index rows, Index cols);

/// Rows in turn, from a random one of these on: entries more than 110 apart with one above 89 (2 columns or
/// more); all entries near -150; near -2e4; near +2e4, each within 10. So 4 rows hold all four kinds.
/// Exposes a missing maximum, one maximum for the whole matrix, and a maximum that starts at 0 or at -1e4.
Tensor wide_rows(InputGenerator& generator, Index rows, Index cols);

/// Rows of scores as they are given.
Tensor rows_of(const KeyScores& scores);

/// deciding_scores(), and two rows more that begin with -inf in a third of their columns. Exposes a finite
/// number in place of a masked score, too.
Tensor deciding_rows(Index cols, double score);

/// The last few columns (a quarter, at least 1, at most 3) are more than 20 above all others, in every row.
/// Exposes a running sum that is not rescaled, or rescaled by the wrong maximum.
Tensor late_maximum_rows(InputGenerator& generator, Index rows, Index cols);

}  // namespace course
