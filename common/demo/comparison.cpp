#include "demo/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "judge/numbers/compare.hpp"
#include "reference/reference.hpp"
#include "ring/shards.hpp"

namespace course::demo {

namespace {

/// Scores that the comparison of o may take: two seconds or so of float64 work. That of gradients takes whole
/// heads, and one at least, since a gradient that nobody compared is not right: of 32768 tokens, 16 times as
/// many scores.
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

template <class T>
TensorOf<T> pick_heads(const Tensor& from, const std::vector<Index>& heads) {
  std::vector<TensorOf<T>> picked;
  for (const Index head : heads) picked.push_back(cast<T>(slice(from, 0, head, 1)));
  return concatenate(picked, 0);
}

template <class T>
void add(TensorOf<T>& to, const TensorOf<T>& share) {
  for (Index i = 0; i < to.size(); ++i) to[i] += share[i];
}

/// The gradients of some heads, a few queries at a time, whose shares in dk and dv are added up.
template <class T>
reference::AttentionGradients<T> piecewise_gradients(const Input& input, const std::vector<Index>& heads,
                                                     const Progress& progress) {
  const TensorOf<T> q = pick_heads<T>(input.q, heads);
  const TensorOf<T> k = pick_heads<T>(input.k, heads);
  const TensorOf<T> v = pick_heads<T>(input.v, heads);
  const TensorOf<T> d_o = pick_heads<T>(*input.d_o, heads);
  const Index step = std::max<Index>(1, scores_at_once / k.extent(1));
  std::vector<TensorOf<T>> dq;
  TensorOf<T> dk(k.shape());
  TensorOf<T> dv(v.shape());
  for (Index first = 0; first < q.extent(1); first += step) {
    progress(fmt::format("comparing with float{} gradients, {} %", 8 * sizeof(T), 100 * first / q.extent(1)));
    const Index count = std::min(step, q.extent(1) - first);
    const auto piece =
        reference::attention_gradients(slice(q, 1, first, count), k, v, slice(d_o, 1, first, count));
    dq.push_back(piece.dq);
    add(dk, piece.dk);
    add(dv, piece.dv);
  }
  return {concatenate(dq, 1), std::move(dk), std::move(dv)};
}

double largest_difference(const Tensor64& answer, const Tensor64& expected) {
  double largest = 0;
  for (Index i = 0; i < expected.size(); ++i) {
    const double difference = std::abs(answer[i] - expected[i]);
    if (!(difference <= largest))
      largest = std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference;
  }
  return largest;
}

Deviation deviation(const Tensor64& answer, const Tensor64& expected) {
  return {largest_difference(answer, expected), relative_error(answer, expected)};
}

using Answer = reference::Attention<double>;

Deviations deviations(const Answer& answer, const Answer& expected) {
  return {deviation(answer.o, expected.o), deviation(answer.lse, expected.lse)};
}

Answer rows_of(const Answer& answer, Index first, Index count) {
  return {slice(answer.o, 1, first, count), slice(answer.lse, 1, first, count)};
}

using Gradients = reference::AttentionGradients<double>;

GradientDeviations deviations(const Gradients& answer, const Gradients& expected) {
  return {deviation(answer.dq, expected.dq), deviation(answer.dk, expected.dk),
          deviation(answer.dv, expected.dv)};
}

Gradients rows_of(const Gradients& all, Index first, Index count) {
  return {slice(all.dq, 1, first, count), slice(all.dk, 1, first, count), slice(all.dv, 1, first, count)};
}

/// `count` of `all`, evenly spread.
std::vector<Index> spread(Index count, Index all) {
  std::vector<Index> picked(count);
  for (Index i = 0; i < count; ++i) picked[i] = i * all / count;
  return picked;
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

ForwardReference::ForwardReference(const Input& input, const std::vector<int>& shard_tokens,
                                   const Progress& progress)
    : rows_(rows_to_compare(shard_tokens, most_scores / (input.heads() * input.seq()))),
      rows_by_shard_(rows_by_shard(rows_, shard_tokens)) {
  expected_ = PiecewiseReference<double>(input, rows_).compute(progress);
  const auto float32 = PiecewiseReference<float>(input, rows_).compute(progress);
  const Answer baseline{cast<double>(float32.o), cast<double>(float32.lse)};
  blank_.rows = static_cast<Index>(rows_.size());
  blank_.seq = input.seq();
  blank_.baseline = deviations(baseline, expected_);
  blank_.tolerance_o = tolerance(baseline.o, expected_.o);
  blank_.tolerance_lse = tolerance(baseline.lse, expected_.lse);
}

Comparison ForwardReference::compare(const Tensor& o, const Tensor& lse) const {
  const Answer answer{cast<double>(pick_rows(o, rows_)), cast<double>(pick_rows(lse, rows_))};
  Comparison result = blank_;
  Index first = 0;
  for (const Index count : rows_by_shard_) {
    result.by_rank.push_back(deviations(rows_of(answer, first, count), rows_of(expected_, first, count)));
    first += count;
  }
  result.overall = deviations(answer, expected_);
  return result;
}

BackwardReference::BackwardReference(const Input& input, std::vector<int> shard_tokens,
                                     const Progress& progress)
    : shard_tokens_(std::move(shard_tokens)) {
  blank_.heads = input.heads();
  blank_.heads_compared = std::clamp<Index>(most_scores / (input.seq() * input.seq()), 1, input.heads());
  heads_ = spread(blank_.heads_compared, blank_.heads);
  expected_ = piecewise_gradients<double>(input, heads_, progress);
  const auto float32 = piecewise_gradients<float>(input, heads_, progress);
  const Gradients baseline{cast<double>(float32.dq), cast<double>(float32.dk), cast<double>(float32.dv)};
  blank_.baseline = deviations(baseline, expected_);
  blank_.tolerance_dq = tolerance(baseline.dq, expected_.dq);
  blank_.tolerance_dk = tolerance(baseline.dk, expected_.dk);
  blank_.tolerance_dv = tolerance(baseline.dv, expected_.dv);
}

GradientComparison BackwardReference::compare(const Tensor& dq, const Tensor& dk, const Tensor& dv) const {
  const Gradients answer{pick_heads<double>(dq, heads_), pick_heads<double>(dk, heads_),
                         pick_heads<double>(dv, heads_)};
  GradientComparison result = blank_;
  const std::vector<int> offsets = shard_offsets(shard_tokens_);
  for (std::size_t rank = 0; rank < shard_tokens_.size(); ++rank) {
    result.by_rank.push_back(deviations(rows_of(answer, offsets[rank], shard_tokens_[rank]),
                                        rows_of(expected_, offsets[rank], shard_tokens_[rank])));
  }
  result.overall = deviations(answer, expected_);
  return result;
}

}  // namespace course::demo
