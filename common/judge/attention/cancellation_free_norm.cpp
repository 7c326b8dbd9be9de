#include "judge/attention/cancellation_free_norm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "judge/diagnose.hpp"
#include "judge/numbers/compare.hpp"
#include "judge/numbers/dot.hpp"
#include "ring/shards.hpp"

namespace course {

namespace {

using View = MatrixView<const double>;

/// sum_c |a_c b_c|
double dot_of_magnitudes(std::span<const double> a, std::span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                            [](double x, double y) { return std::abs(x * y); });
}

void add_magnitudes(std::span<double> to, double factor, std::span<const double> x) {
  for (std::size_t c = 0; c < to.size(); ++c) to[c] += factor * std::abs(x[c]);
}

double norm_on_rank(const Tensor64& x, const Example& example, int rank) {
  const Tensor64 own = slice(x, 1, shard_offsets(example.shard_tokens)[rank], example.shard_tokens[rank]);
  return std::sqrt(dot(own.values(), own.values()));
}

Tensor64 difference(Tensor64 a, const Tensor64& b) {
  for (Index i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

/// The error on each rank, as a part of the norm of the rank's terms; 0 where the two are equal.
std::vector<double> errors_by_rank(const Tensor64& answer, const Tensor64& expected,
                                   const Tensor64& cancellation_free, const Example& example) {
  const Tensor64 off = difference(answer, expected);
  std::vector<double> errors(example.ranks());
  for (int rank = 0; rank < example.ranks(); ++rank) {
    const double distance = norm_on_rank(off, example, rank);
    errors[rank] = distance == 0 ? 0 : distance / norm_on_rank(cancellation_free, example, rank);
  }
  return errors;
}

}  // namespace

Gradients64 cancellation_free_gradients(const AttentionProblem& x) {
  const reference::Attention<double> forward = reference::attention(x.q, x.k, x.v, x.mask);
  Gradients64 cancellation_free{Tensor64(x.q.shape()), Tensor64(x.k.shape()), Tensor64(x.v.shape())};
  const double scale = 1 / std::sqrt(static_cast<double>(x.q.extent(2)));
  for (Index head = 0; head < x.q.extent(0); ++head) {
    const View q = x.q.heads().head(head), k = x.k.heads().head(head), v = x.v.heads().head(head);
    const View d_o = x.d_o.heads().head(head), o = forward.o.heads().head(head);
    const std::span<const double> lse = forward.lse.matrix().row(head);
    for (Index i = 0; i < q.rows(); ++i) {
      const double delta = dot_of_magnitudes(o.row(i), d_o.row(i)) + std::abs(x.d_lse.matrix()(head, i));
      for (Index j = 0; j < k.rows(); ++j) {
        if (!x.mask.visible(i, j)) continue;
        const double weight = std::exp(scale * dot(q.row(i), k.row(j)) - lse[i]);
        const double ds = scale * weight * (dot_of_magnitudes(d_o.row(i), v.row(j)) + delta);
        add_magnitudes(cancellation_free.dq.heads().head(head).row(i), ds, k.row(j));
        add_magnitudes(cancellation_free.dk.heads().head(head).row(j), ds, q.row(i));
        add_magnitudes(cancellation_free.dv.heads().head(head).row(j), weight, d_o.row(i));
      }
    }
  }
  return cancellation_free;
}

std::function<Answer(const Example&)> cancellation_free_gradients_of(
    std::function<AttentionProblem(const Example&)> problem) {
  return [problem = std::move(problem)](const Example& example) {
    Gradients64 cancellation_free = cancellation_free_gradients(problem(example));
    return Answer{{"dq", std::move(cancellation_free.dq)},
                  {"dk", std::move(cancellation_free.dk)},
                  {"dv", std::move(cancellation_free.dv)}};
  };
}

std::vector<Finding> is_right_on_every_rank(const Played& played) {
  if (!is_right(played)) return {};
  const Example& example = *played.example;
  std::vector<Finding> findings;
  for (const char* name : {"dq", "dk", "dv"}) {
    const Tensor64& expected = played.expected.at(name);
    const Tensor64& cancellation_free = played.cancellation_free.at(name);
    const double allowed = allowed_beside(
        std::ranges::max(errors_by_rank(played.baseline.at(name), expected, cancellation_free, example)));
    const std::vector<double> errors =
        errors_by_rank(played.answer.at(name), expected, cancellation_free, example);
    for (int rank = 0; rank < example.ranks(); ++rank) {
      if (errors[rank] <= allowed) continue;
      findings.push_back(
          {"", fmt::format("{} on rank {} is off by {:.2g} of the norm of its terms before they "
                           "cancel; float32 explains {:.2g}",
                           name, rank, errors[rank], allowed)});
    }
  }
  return findings;
}

}  // namespace course
