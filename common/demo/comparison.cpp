#include "demo/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "judge/compare.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"

namespace course::demo {

namespace {

/// Scores that the comparison may take: two seconds or so of float64 work.
constexpr Index most_scores = Index{1} << 26;
/// Scores of one head that are held at once.
constexpr Index scores_at_once = Index{1} << 21;

/// The given rows along axis 1 of [heads, rows] or [heads, rows, head_dim].
template <class T>
TensorOf<T> pick_rows(const TensorOf<T>& from, const std::vector<Index>& rows) {
  Shape shape = from.shape();
  const Index all = shape[1];
  shape[1] = static_cast<Index>(rows.size());
  TensorOf<T> picked(shape);
  const Index width = from.size() / (shape[0] * all);
  T* to = picked.data();
  for (Index head = 0; head < shape[0]; ++head) {
    for (const Index row : rows) to = std::copy_n(from.data() + (head * all + row) * width, width, to);
  }
  return picked;
}

/// Attention of some of the rows, a few at a time: the reference holds every score of a head at once.
template <class T>
class PiecewiseReference {
 public:
  PiecewiseReference(const Input& input, const std::vector<Index>& rows)
      : q_(cast<T>(pick_rows(input.q, rows))), k_(cast<T>(input.k)), v_(cast<T>(input.v)) {}

  reference::Attention<T> compute(const Progress& progress) const {
    const Index rows = q_.extent(1);
    const Index step = std::max<Index>(1, scores_at_once / k_.extent(1));
    std::vector<TensorOf<T>> o;
    std::vector<TensorOf<T>> lse;
    for (Index first = 0; first < rows; first += step) {
      progress(fmt::format("comparing with float{} attention, {} %", 8 * sizeof(T), 100 * first / rows));
      const reference::Attention<T> piece =
          reference::attention(slice(q_, 1, first, std::min(step, rows - first)), k_, v_);
      o.push_back(piece.o);
      lse.push_back(piece.lse);
    }
    return {concatenate(o, 1), concatenate(lse, 1)};
  }

 private:
  TensorOf<T> q_, k_, v_;
};

double largest_difference(const Tensor64& answer, const Tensor64& truth) {
  double largest = 0;
  for (Index i = 0; i < truth.size(); ++i) {
    const double difference = std::abs(answer[i] - truth[i]);
    if (!(difference <= largest))
      largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  }
  return largest;
}

Deviation deviation(const Tensor64& answer, const Tensor64& truth) {
  return {largest_difference(answer, truth), relative_error(answer, truth)};
}

struct Answer {
  Tensor64 o, lse;
};

Deviations deviations(const Answer& answer, const Answer& truth) {
  return {deviation(answer.o, truth.o), deviation(answer.lse, truth.lse)};
}

Answer rows_of(const Answer& answer, Index first, Index count) {
  return {slice(answer.o, 1, first, count), slice(answer.lse, 1, first, count)};
}

/// How many of the rows, which ascend, belong to each shard.
std::vector<Index> rows_by_shard(const std::vector<Index>& rows, const std::vector<int>& shard_tokens) {
  std::vector<Index> counts;
  Index end = 0;
  auto from = rows.begin();
  for (const int tokens : shard_tokens) {
    end += tokens;
    const auto to = std::lower_bound(from, rows.end(), end);
    counts.push_back(to - from);
    from = to;
  }
  return counts;
}

}  // namespace

std::vector<Index> rows_to_compare(const std::vector<int>& shard_tokens, Index most) {
  const Index all = std::accumulate(shard_tokens.begin(), shard_tokens.end(), Index{0});
  std::vector<Index> rows;
  Index offset = 0;
  for (const Index tokens : shard_tokens) {
    const Index share =
        most >= all ? tokens : std::clamp<Index>(most * tokens / all, std::min<Index>(1, tokens), tokens);
    for (Index i = 0; i < share; ++i)
      rows.push_back(offset + (share > 1 ? i * (tokens - 1) / (share - 1) : 0));
    offset += tokens;
  }
  return rows;
}

Comparison compare(const Input& input, const Tensor& o, const Tensor& lse,
                   const std::vector<int>& shard_tokens, const Progress& progress) {
  const std::vector<Index> rows = rows_to_compare(shard_tokens, most_scores / (input.heads() * input.seq()));
  auto [truth_o, truth_lse] = PiecewiseReference<double>(input, rows).compute(progress);
  const auto [baseline_o, baseline_lse] = PiecewiseReference<float>(input, rows).compute(progress);
  const Answer truth{std::move(truth_o), std::move(truth_lse)};
  const Answer baseline{cast<double>(baseline_o), cast<double>(baseline_lse)};
  const Answer answer{cast<double>(pick_rows(o, rows)), cast<double>(pick_rows(lse, rows))};

  Comparison result;
  result.rows = static_cast<Index>(rows.size());
  result.seq = input.seq();
  Index first = 0;
  for (const Index count : rows_by_shard(rows, shard_tokens)) {
    result.by_rank.push_back(deviations(rows_of(answer, first, count), rows_of(truth, first, count)));
    first += count;
  }
  result.overall = deviations(answer, truth);
  result.baseline = deviations(baseline, truth);
  result.tolerance_o = tolerance(baseline.o, truth.o);
  result.tolerance_lse = tolerance(baseline.lse, truth.lse);
  return result;
}

}  // namespace course::demo
