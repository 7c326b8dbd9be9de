#include "judge/numbers/input_generator.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>

#include "judge/numbers/dot.hpp"
#include "tensor/npy.hpp"

namespace course {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

constexpr double kLateMargin = 60;  // what the late keys are planted above the others; 20 is promised
constexpr double kWideLevel = 140;  // wide rows span -140 to 140; 110 apart, one above 89 is promised
constexpr double kRowVariation = 0.25;

/// How many keys at the end hold the maximum.
Index late_count(Index keys) {
  return std::min(keys, std::clamp<Index>(keys / 4, 1, 3));
}

/// The third of the keys that `key` is in, as -1, 0 or 1. The first key is always in -1 and, when there are
/// two or more, the last in 1.
int third(Index key, Index keys) {
  const Index size = (keys + 2) / 3;
  if (key < size) return -1;
  return key >= keys - size ? 1 : 0;
}

/// Level of a key in a row that spans more than 110: jumps between thirds, anything in the middle one.
double wide_level(InputGenerator& generator, Index key, Index keys) {
  const int part = third(key, keys);
  return part == 0 ? generator.uniform(-kWideLevel, kWideLevel) : part * kWideLevel;
}

Tensor head_values(InputGenerator& generator, Index heads, Index keys, Index head_dim) {
  Tensor v({heads, keys, head_dim});
  for (Index head = 0; head < heads; ++head) {
    const double scale = generator.uniform(0.5, 1.5);
    const double mean = generator.uniform(-1, 1);
    const MatrixView<float> rows = v.heads().head(head);
    for (Index i = 0; i < rows.size(); ++i)
      rows.data()[i] = static_cast<float>(mean + scale * generator.normal());
  }
  return v;
}

/// A direction, all equally likely.
std::vector<double> unit_vector(InputGenerator& generator, Index size) {
  std::vector<double> u(size);
  for (double& value : u) value = generator.normal();
  const double norm = std::sqrt(dot(u, u));
  for (double& value : u) value /= norm;
  return u;
}

/// Mean 0, standard deviation 1 and never beyond 1.74, so that no promise of a maker fails by chance:
/// products of two normal numbers have far heavier tails.
double bounded_noise(InputGenerator& generator) {
  return generator.uniform(-std::numbers::sqrt3, std::numbers::sqrt3);
}

/// Writes along * unit + n, where n is noise in every direction but that of `unit`.
void write_planted_row(InputGenerator& generator, double along, const std::vector<double>& unit,
                       std::span<float> row) {
  std::vector<double> noise(unit.size());
  for (double& value : noise) value = bounded_noise(generator);
  const double correction = along - dot(noise, unit);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(noise[i] + correction * unit[i]);
}

/// One head of planted scores: score_ij = row_factors[i] * key_scores[j] + n_i . n_j / sqrt(head_dim). The
/// first term is carried by one random direction, shared fairly between q and k so that neither is huge; the
/// second, of standard deviation just under 1, by all directions across it.
void write_planted_head(InputGenerator& generator, const std::vector<double>& row_factors,
                        const std::vector<double>& key_scores, MatrixView<float> q, MatrixView<float> k) {
  const std::vector<double> unit = unit_vector(generator, q.cols());
  double largest = 1;
  for (const double score : key_scores) largest = std::max(largest, std::abs(score));
  const double root_dim = std::sqrt(static_cast<double>(q.cols()));
  const double q_length = std::sqrt(root_dim * largest);
  for (Index i = 0; i < q.rows(); ++i)
    write_planted_row(generator, row_factors[i] * q_length, unit, q.row(i));
  for (Index j = 0; j < k.rows(); ++j) {
    write_planted_row(generator, key_scores[j] * root_dim / q_length, unit, k.row(j));
  }
}

/// Heads of planted scores row_factor(i) * (key_level(j) + e_j) + n_i . n_j / sqrt(head_dim), e_j being
/// noise.
template <class RowFactor, class KeyLevel>
QKV planted_qkv(InputGenerator& generator, Index heads, Index queries, Index keys, Index head_dim,
                RowFactor row_factor, KeyLevel key_level) {
  QKV made{Tensor({heads, queries, head_dim}), Tensor({heads, keys, head_dim}),
           head_values(generator, heads, keys, head_dim)};
  for (Index head = 0; head < heads; ++head) {
    std::vector<double> row_factors(queries);
    for (Index i = 0; i < queries; ++i) row_factors[i] = row_factor(i);
    std::vector<double> key_scores(keys);
    for (Index j = 0; j < keys; ++j) {
      const double level = key_level(j);
      key_scores[j] = level + bounded_noise(generator);
    }
    write_planted_head(generator, row_factors, key_scores, made.q.heads().head(head),
                       made.k.heads().head(head));
  }
  return made;
}

/// Of a real tensor, these tokens and heads. All are read at the first call.
Tensor excerpt(const char* name, Index first_token, Index tokens, const std::vector<Index>& heads) {
  static const std::map<std::string, Tensor> data = [] {
    const std::filesystem::path folder = std::filesystem::path(COURSE_DATA_DIR) / "minilm";
    std::map<std::string, Tensor> all;
    for (const std::string file : {"q", "k", "v", "do"})
      all[file] = read_npy<float>(folder / (file + ".npy"));
    return all;
  }();
  std::vector<Tensor> parts;
  for (const Index head : heads)
    parts.push_back(slice(slice(data.at(name), 0, head, 1), 1, first_token, tokens));
  return concatenate(parts, 0);
}

/// Masks every entry with probability 1/2, but not all, and at least one when there are two or more.
void mask_scattered(InputGenerator& generator, std::span<float> row) {
  const int last = static_cast<int>(row.size()) - 1;
  const int kept = generator.integer(0, last);
  const int masked = generator.integer(0, last);
  for (int col = 0; col <= last; ++col) {
    const bool hide = generator.integer(0, 1) == 1;
    if (hide && col != kept) row[col] = kMinusInfinity;
  }
  if (last > 0) row[masked == kept ? (kept + 1) % (last + 1) : masked] = kMinusInfinity;
}

/// Masks from the start at least half of the row, but not its last entry.
void mask_start(InputGenerator& generator, std::span<float> row) {
  const int cols = static_cast<int>(row.size());
  std::fill_n(row.begin(), generator.integer(std::min((cols + 1) / 2, cols - 1), cols - 1), kMinusInfinity);
}

constexpr int kKinds = 4;  // of rows that masked_rows and wide_rows take in turn

}  // namespace

std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

int InputGenerator::integer(int low, int high) {
  if (low > high) {
    throw std::invalid_argument("cannot draw an integer from " + std::to_string(low) + " to " +
                                std::to_string(high) + ", expected low <= high");
  }
  // The upper half of the bits as a fraction of 2^32, times the number of values: at most 2^64 - 2^32.
  const std::uint64_t values = static_cast<std::uint64_t>(static_cast<std::int64_t>(high) - low) + 1;
  return static_cast<int>(low + static_cast<std::int64_t>((generator_() >> 32) * values >> 32));
}

double InputGenerator::uniform(double low, double high) {
  return low + (high - low) * (static_cast<double>(generator_() >> 11) * 0x1p-53);
}

double InputGenerator::normal() {
  // 1 - u is never 0. The second number that the method gives is not kept: state would outlive the call.
  const double radius = std::sqrt(-2 * std::log(1 - uniform(0, 1)));
  return radius * std::cos(uniform(0, 2 * std::numbers::pi));
}

Tensor InputGenerator::normal(Shape shape, float scale) {
  Tensor made(std::move(shape));
  for (float& value : made.values()) value = static_cast<float>(scale * normal());
  return made;
}

Tensor InputGenerator::uniform_tensor(Shape shape, double low, double high) {
  Tensor made(std::move(shape));
  for (float& value : made.values()) value = static_cast<float>(uniform(low, high));
  return made;
}

InputGenerator InputGenerator::fork(std::string_view label) const {
  std::uint64_t hash = mixed(seed_);
  for (const char letter : label) hash = mixed(hash ^ static_cast<unsigned char>(letter));
  return InputGenerator(hash);
}

int one_of(InputGenerator& generator, const std::vector<int>& choices) {
  return choices[generator.integer(0, static_cast<int>(choices.size()) - 1)];
}

std::vector<int> unequal_shards(InputGenerator& generator, int ranks) {
  std::vector<int> shards(ranks);
  for (int& tokens : shards) tokens = generator.integer(2, 6);
  const int first = generator.integer(0, ranks - 1);
  if (ranks > 1) shards[first] = 7;
  if (ranks > 2) shards[(first + 1) % ranks] = 1;
  if (ranks > 3) shards[(first + 3) % ranks] = 0;
  return shards;
}

std::vector<int> any_shards(InputGenerator& generator, int ranks, int more) {
  std::vector<int> shards(ranks);
  for (int& tokens : shards) tokens = generator.integer(0, 3) == 0 ? 0 : generator.integer(1, 14);
  shards[generator.integer(0, ranks - 1)] += more;
  return shards;
}

QKV random_qkv(InputGenerator& generator, Index heads, Index queries, Index keys, Index head_dim,
               double scale) {
  QKV made{Tensor({heads, queries, head_dim}), generator.normal({heads, keys, head_dim}),
           head_values(generator, heads, keys, head_dim)};
  for (Index head = 0; head < heads; ++head) {
    const double position =
        (static_cast<double>(head) + generator.uniform(0, 1)) / static_cast<double>(heads);
    const MatrixView<float> q = made.q.heads().head(head);
    for (Index i = 0; i < q.size(); ++i) {
      q.data()[i] = static_cast<float>(scale * (0.5 + position) * generator.normal());
    }
  }
  return made;
}

QKV late_maximum_qkv(InputGenerator& generator, Index heads, Index queries, Index keys, Index head_dim) {
  return planted_qkv(
      generator, heads, queries, keys, head_dim,
      [&](Index) { return generator.uniform(1 - kRowVariation, 1 + kRowVariation); },
      [&](Index key) { return key >= keys - late_count(keys) ? kLateMargin : 0.0; });
}

QKV wide_scores_qkv(InputGenerator& generator, Index heads, Index queries, Index keys, Index head_dim) {
  return planted_qkv(
      generator, heads, queries, keys, head_dim,
      [&](Index row) {
        return (row % 2 == 0 ? 1 : -1) * generator.uniform(1 - kRowVariation, 1 + kRowVariation);
      },
      [&](Index key) { return wide_level(generator, key, keys); });
}

QKV very_negative_qkv(InputGenerator& generator, Index heads, Index queries, Index keys, Index head_dim,
                      double level) {
  return planted_qkv(
      generator, heads, queries, keys, head_dim, [&](Index) { return generator.uniform(0.98, 1.02); },
      [&](Index) { return level; });
}

QKV exact_scores_qkv(InputGenerator& generator, Index queries, Index head_dim, const KeyScores& scores,
                     bool both_signs) {
  const Index heads = std::ssize(scores), keys = std::ssize(scores.front());
  QKV made = random_qkv(generator, heads, queries, keys, head_dim);
  double largest = 1;
  for (const double score : scores.front()) largest = std::max(largest, std::abs(score));
  // A power of two near the root of the largest score, so that neither q nor k is huge.
  const double factor = std::ldexp(1.0, std::ilogb(largest) / 2);
  const double root_dim = std::sqrt(static_cast<double>(head_dim));
  for (Index head = 0; head < heads; ++head) {
    const MatrixView<float> q = made.q.heads().head(head), k = made.k.heads().head(head);
    const Index entry = generator.integer(0, static_cast<int>(head_dim) - 1);
    for (Index i = 0; i < queries; ++i) {
      std::ranges::fill(q.row(i), 0.0f);
      q(i, entry) = static_cast<float>(both_signs && i % 2 == 1 ? -factor : factor);
    }
    for (Index j = 0; j < keys; ++j)
      k(j, entry) = static_cast<float>(scores[head][static_cast<std::size_t>(j)] * root_dim / factor);
  }
  return made;
}

QKV large_values_qkv(InputGenerator& generator, Index queries, Index head_dim) {
  constexpr double below[] = {22, 42, 64};
  constexpr std::size_t keys = 16;
  KeyScores scores;
  for (const double less : below) scores.emplace_back(keys, 1 - less).front() = 1;
  scores.emplace_back(keys, 86.0);
  QKV made = exact_scores_qkv(generator, queries, head_dim, scores);
  for (Index head = 0; head < std::ssize(below); ++head) {
    const MatrixView<float> v = made.v.heads().head(head);
    for (Index key = 1; key < v.rows(); ++key) {
      for (float& value : v.row(key)) value *= static_cast<float>(std::exp(below[head]));
    }
  }
  return made;
}

KeyScores deciding_scores(Index keys, double score) {
  KeyScores scores(2, std::vector<double>(static_cast<std::size_t>(keys), 1.25 * score));
  scores[0].back() = scores[1].front() = score;
  return scores;
}

KeyScores risen_scores(Index block) {
  KeyScores scores;
  for (const double more : {86.0, 88.875, 96.0, 103.0}) {
    std::vector<double>& of_head = scores.emplace_back(static_cast<std::size_t>(2 * block), -40.0);
    std::fill(of_head.begin() + block, of_head.end(), more - 40);
  }
  std::vector<double>& from_96 = scores.emplace_back(static_cast<std::size_t>(2 * block), 96.0);
  std::fill(from_96.begin() + block, from_96.end(), 96 + 86);
  return scores;
}

KeyScores full_scores() {
  constexpr int keys = 128, block = 64;
  KeyScores scores(3, std::vector<double>(keys, 0.0));
  std::fill_n(scores[0].begin(), block, 85);
  std::fill_n(scores[1].begin() + 7, 3, 87.75);
  std::ranges::fill(scores[2], 84.25);
  return scores;
}

KeyScores outweighed_scores() {
  KeyScores scores(2, std::vector<double>(128, -12.0));
  scores[0].back() = scores[1].front() = 1;
  return scores;
}

KeyScores climbing_scores() {
  constexpr int keys = 24, last = 20;  // whole blocks of 4
  KeyScores scores(2);
  for (int key = 0; key < keys; ++key) {
    scores[0].push_back(7.5 * std::min(key, last) - 75);
    scores[1].push_back(60.0 * (4 * key / keys) - 90);
  }
  return scores;
}

QKV minilm_qkv(Index first_token, Index tokens, const std::vector<Index>& heads, float q_factor) {
  const auto real = [&](const char* name) { return excerpt(name, first_token, tokens, heads); };
  QKV made{real("q"), real("k"), real("v")};
  for (float& value : made.q.values()) value *= q_factor;
  return made;
}

std::vector<Index> two_real_heads(InputGenerator& generator) {
  const int first = generator.integer(0, 11);
  return {first, (first + generator.integer(1, 11)) % 12};
}

Tensor minilm_d_o(Index first_token, Index tokens, const std::vector<Index>& heads) {
  return excerpt("do", first_token, tokens, heads);
}

Tensor scores_of(const QKV& qkv, const std::vector<Index>& queries) {
  const MatrixView<const float> q = qkv.q.heads().head(0), k = qkv.k.heads().head(0);
  Tensor scores({std::ssize(queries), k.rows()});
  for (Index i = 0; i < scores.extent(0); ++i) {
    for (Index j = 0; j < k.rows(); ++j)
      scores.matrix()(i, j) =
          dot<float>(q.row(queries[i]), k.row(j)) / std::sqrt(static_cast<float>(k.cols()));
  }
  return scores;
}

Tensor score_rows(InputGenerator& generator, Index rows, Index cols) {
  return generator.normal({rows, cols});
}

Tensor masked_rows(InputGenerator& generator, Index rows, Index cols) {
  Tensor x = score_rows(generator, rows, cols);
  if (cols == 0) return x;
  const int start = generator.integer(0, kKinds - 1);
  for (Index i = 0; i < rows; ++i) {
    const std::span<float> row = x.matrix().row(i);
    switch ((start + i) % kKinds) {
      case 0:
        std::fill(row.begin(), row.end(), kMinusInfinity);
        break;
      case 1:
        mask_start(generator, row);
        break;
      case 2:
        mask_scattered(generator, row);
        break;
      default:
        break;  // nothing masked
    }
  }
  return x;
}

Tensor wide_rows(InputGenerator& generator, Index rows, Index cols) {
  Tensor x = score_rows(generator, rows, cols);
  const int start = generator.integer(0, kKinds - 1);
  for (Index i = 0; i < rows; ++i) {
    const Index kind = (start + i) % kKinds;
    for (Index j = 0; j < cols; ++j) {
      const double level[kKinds] = {wide_level(generator, j, cols), -150, -2e4, 2e4};
      x.matrix()(i, j) += static_cast<float>(level[kind]);
    }
  }
  return x;
}

Tensor rows_of(const KeyScores& scores) {
  Tensor x({std::ssize(scores), std::ssize(scores.front())});
  for (Index i = 0; i < x.extent(0); ++i) {
    for (Index j = 0; j < x.extent(1); ++j) x.matrix()(i, j) = static_cast<float>(scores[i][j]);
  }
  return x;
}

Tensor deciding_rows(Index cols, double score) {
  KeyScores scores = deciding_scores(cols, score);
  std::vector<double> masked = scores[0];
  std::fill_n(masked.begin(), cols / 3, static_cast<double>(kMinusInfinity));
  scores.insert(scores.end(), 2, masked);
  std::ranges::reverse(scores.back());
  return rows_of(scores);
}

Tensor late_maximum_rows(InputGenerator& generator, Index rows, Index cols) {
  Tensor x = score_rows(generator, rows, cols);
  for (Index i = 0; i < rows; ++i) {
    for (Index j = cols - late_count(cols); j < cols; ++j) {
      x.matrix()(i, j) += static_cast<float>(kLateMargin);
    }
  }
  return x;
}

}  // namespace course
