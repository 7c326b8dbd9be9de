#include "judge/numbers/rounding.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace course::rounding {

namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

double square(double x) {
  return x * x;
}

/// What a number times this one is rounded to is that product's digits alone, which two equal ones share.
bool is_power_of_two(double x) {
  int exponent = 0;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

/// A dot product and what is rounded off it.
struct Product {
  double value = 0;
  double off = 0;
};

Product product(std::span<const double> a, std::span<const double> b) {
  double sum = 0, squares = 0;
  Index terms = 0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    sum += a[c] * b[c];
    squares += square(a[c] * b[c]);
    terms += a[c] * b[c] != 0 ? 1 : 0;
  }
  const bool exact = terms < 2 && static_cast<float>(sum) == sum;
  return {sum, exact ? 0 : of_sum(std::ssize(a), squares, sum)};
}

void add_scaled(std::span<double> to, double factor, std::span<const double> x) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * x[c];
}

double scale_of(Index head_dim) {
  return 1 / std::sqrt(static_cast<double>(head_dim));
}

/// One query's scores q . k_j / sqrt(d) and what is rounded off them: scaled, and perhaps once more for
/// exponents of 2; nothing off a power of two. -inf where the mask hides a key. A bias, where one is given,
/// is a product that is added.
void write_scores(std::span<const double> q, MatrixView<const double> k, reference::KeyRange seen,
                  std::span<const double> bias, std::vector<double>& scores, std::vector<double>& off) {
  const double scale = scale_of(std::ssize(q));
  scores.assign(static_cast<std::size_t>(k.rows()), minus_infinity);
  off.assign(scores.size(), 0);
  for (Index j = std::max<Index>(0, seen.first); j < std::min(seen.last, k.rows()); ++j) {
    const Product score = product(q, k.row(j));
    scores[j] = scale * score.value;
    off[j] = square(scale) * score.off + (is_power_of_two(scores[j]) ? 0 : 2 * of(scores[j]));
    if (bias.empty() || bias[j] == 0) continue;
    scores[j] += bias[j];
    off[j] += bias[j] == minus_infinity ? 0 : of(bias[j]) + of(scores[j]);
  }
}

/// One query's row of a bias [heads, queries, keys]; empty where none is given.
std::span<const double> row_of(const Tensor64& bias, Index head, Index query) {
  if (bias.shape() == Shape{0}) return {};
  return bias.heads().head(head).row(query);
}

/// Sums of terms, and what is rounded off them.
struct Sums {
  Sums(Index rows, Index cols) : sum({rows, cols}), squares({rows, cols}), off({rows, cols}) {}
  /// Adds `factor` times each of `x` to a row; `variance` is what is rounded off the factor.
  void add(Index row, double factor, double variance, std::span<const double> x) {
    const std::span<double> sums = sum.matrix().row(row), all_squares = squares.matrix().row(row);
    const std::span<double> variances = off.matrix().row(row);
    for (std::size_t c = 0; c < x.size(); ++c) {
      const double term = factor * x[c];
      sums[c] += term;
      all_squares[c] += square(term);
      variances[c] += variance * square(x[c]);
    }
  }
  /// The root mean squares, times `scale`, of sums of so many terms.
  void write(Index terms, double scale, MatrixView<double> to) const {
    for (Index i = 0; i < off.size(); ++i)
      to.data()[i] = scale * std::sqrt(off[i] + of_sum(terms, squares[i], sum[i]));
  }
  Tensor64 sum, squares, off;
};

/// The gradients of one head.
struct Head {
  MatrixView<const double> q, k, v, d_o;
  std::span<const double> d_lse;
  Sums dq = Sums(q.rows(), q.cols()), dk = Sums(k.rows(), k.cols()), dv = Sums(v.rows(), v.cols());

  void add_query(Index i, reference::KeyRange seen, std::span<const double> bias) {
    std::vector<double> scores, of_scores;
    write_scores(q.row(i), k, seen, bias, scores, of_scores);
    const Weights w = weights(scores, of_scores, 1);
    if (w.lse == minus_infinity) return;
    // The lse is given, rounded; whoever has exponents of 2 rounds it once more, as the score that it is
    // where one has all the weight.
    const double of_lse = is_power_of_two(w.lse) ? 0 : 2 * of(w.lse);
    std::vector<Product> d_p(scores.size());
    Tensor64 o({1, v.cols()});
    double delta = 0;
    for (Index j = 0; j < k.rows(); ++j) {
      if (w.p[j] == 0) continue;
      d_p[j] = product(d_o.row(i), v.row(j));
      delta += w.p[j] * d_p[j].value;
      add_scaled(o.values(), w.p[j], v.row(j));
    }
    // From the o that is given, whose rounding is that of one factor more.
    const double of_delta = product(o.values(), d_o.row(i)).off + of(delta - d_lse[i]) + of(d_lse[i]);
    Tensor64 weighted_keys({1, k.cols()});
    for (Index j = 0; j < k.rows(); ++j) {
      if (w.p[j] == 0) continue;
      const double share = d_p[j].value - delta + d_lse[i], p_2 = square(w.p[j]);
      const double of_share = d_p[j].off + of(d_p[j].value) + of(delta) + 2 * of(share);
      const double of_weight = w.own[j] + of_lse;
      dv.add(j, w.p[j], p_2 * of_weight, d_o.row(i));
      dk.add(j, w.p[j] * share, p_2 * (of_weight * square(share) + of_share + of_delta), q.row(i));
      dq.add(i, w.p[j] * share, p_2 * (w.own[j] * square(share) + of_share), k.row(j));
      add_scaled(weighted_keys.values(), w.p[j], k.row(j));
    }
    // What a query's terms share does not average out over the keys.
    for (Index c = 0; c < k.cols(); ++c)
      dq.off.matrix()(i, c) += of_lse * square(dq.sum.matrix()(i, c)) + of_delta * square(weighted_keys[c]);
  }
};

}  // namespace

Weights weights(std::span<const double> scores, const std::vector<double>& of_scores, Index merges) {
  const double m = scores.empty() ? minus_infinity : std::ranges::max(scores);
  Weights made{std::vector<double>(scores.size()), std::vector<double>(scores.size())};
  made.lse = m;
  if (m == minus_infinity) return made;
  double l = 0, squares = 0;
  Index weighty = 0;
  for (const double score : scores) l += std::exp(score - m);
  const double log_l = std::log(l);
  made.lse = m + log_l;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    made.p[j] = std::exp(scores[j] - made.lse);
    if (made.p[j] == 0) continue;
    ++weighty;
    // A float32 exp is off by its argument's rounding and a step or two of its own.
    made.own[j] = (of_scores.empty() ? 0 : of_scores[j]) + of(std::abs(scores[j] - m) + 2);
    squares += square(made.p[j]);
    made.of_lse += square(made.p[j]) * made.own[j];
  }
  const double of_l = of_sum(std::ssize(scores), squares, 1);
  const double of_merges = static_cast<double>(merges) * of(made.lse);
  made.of_lse += of_l + of(m) + of(log_l) + of(made.lse) + of_merges;
  made.common = of_l + (weighty > 1 ? of_merges : 0);
  return made;
}

void write_mean(const Weights& weights, MatrixView<const double> v, std::span<double> o) {
  Sums mean(1, v.cols());
  for (Index j = 0; j < v.rows(); ++j) mean.add(0, weights.p[j], 0, v.row(j));
  // The weights add up to 1: what one has too much, the others have too little.
  for (Index j = 0; j < v.rows(); ++j) {
    const double off = square(weights.p[j]) * weights.own[j];
    for (Index c = 0; c < v.cols(); ++c) mean.off[c] += off * square(v(j, c) - mean.sum[c]);
  }
  for (Index c = 0; c < v.cols(); ++c) mean.off[c] += weights.common * square(mean.sum[c]);
  mean.write(v.rows(), 1, {o.data(), 1, v.cols()});
}

Answer softmax(const Tensor64& scores, Index merges) {
  Tensor64 p(scores.shape()), lse({scores.extent(0)});
  for (Index row = 0; row < lse.size(); ++row) {
    const Weights w = weights(scores.matrix().row(row), {}, merges);
    lse[row] = std::sqrt(w.of_lse);
    for (Index j = 0; j < scores.extent(1); ++j) p.matrix()(row, j) = w.p[j] * std::sqrt(w.own[j] + w.common);
  }
  return {{"p", std::move(p)}, {"lse", std::move(lse)}};
}

Answer softmax_gradient(const Tensor64& p, const Tensor64& dp, const Tensor64& d_lse) {
  Tensor64 ds(p.shape());
  for (Index row = 0; row < p.extent(0); ++row) {
    const auto p_row = p.matrix().row(row), dp_row = dp.matrix().row(row);
    const Product delta = product(p_row, dp_row);
    for (std::size_t j = 0; j < p_row.size(); ++j) {
      const double share = dp_row[j] - delta.value + d_lse[row];
      const double of_share = delta.off + of(dp_row[j]) + of(delta.value) + of(d_lse[row]) + 2 * of(share);
      ds.matrix().row(row)[j] = p_row[j] * std::sqrt(of_share);
    }
  }
  return {{"ds", std::move(ds)}};
}

Answer attention(const Tensor64& q, const Tensor64& k, const Tensor64& v, Index merges,
                 const reference::Mask& mask, const Tensor64& bias) {
  Tensor64 o({q.extent(0), q.extent(1), v.extent(2)}), lse({q.extent(0), q.extent(1)});
  std::vector<double> scores, of_scores;
  for (Index head = 0; head < q.extent(0); ++head) {
    for (Index i = 0; i < q.extent(1); ++i) {
      write_scores(q.heads().head(head).row(i), k.heads().head(head), mask.keys(i), row_of(bias, head, i),
                   scores, of_scores);
      const Weights w = weights(scores, of_scores, merges);
      write_mean(w, v.heads().head(head), o.heads().head(head).row(i));
      lse.matrix()(head, i) = std::sqrt(w.of_lse);
    }
  }
  return {{"o", std::move(o)}, {"lse", std::move(lse)}};
}

Answer attention_gradients(const Tensor64& q, const Tensor64& k, const Tensor64& v, const Tensor64& d_o,
                           const reference::Mask& mask, const Tensor64& d_lse, const Tensor64& bias) {
  Tensor64 dq(q.shape()), dk(k.shape()), dv(v.shape());
  const double scale = scale_of(q.extent(2));
  for (Index index = 0; index < q.extent(0); ++index) {
    const auto of_head = [index](auto& tensor) { return tensor.heads().head(index); };
    Head head{of_head(q), of_head(k), of_head(v), of_head(d_o), d_lse.matrix().row(index)};
    for (Index i = 0; i < q.extent(1); ++i) head.add_query(i, mask.keys(i), row_of(bias, index, i));
    head.dq.write(k.extent(1), scale, of_head(dq));
    head.dk.write(q.extent(1), scale, of_head(dk));
    head.dv.write(q.extent(1), 1, of_head(dv));
  }
  return {{"dq", std::move(dq)}, {"dk", std::move(dk)}, {"dv", std::move(dv)}};
}

}  // namespace course::rounding
