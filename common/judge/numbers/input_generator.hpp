#pragma once

#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace course {

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

/// The last few columns (a quarter, at least 1, at most 3) are more than 20 above all others, in every row.
/// Exposes a running sum that is not rescaled, or rescaled by the wrong maximum.
Tensor late_maximum_rows(InputGenerator& generator, Index rows, Index cols);

}  // namespace course
