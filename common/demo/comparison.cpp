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

/// Some of a tensor's entries along an axis.
template <class T>
TensorOf<T> picked(const Tensor& from, Index axis, const std::vector<Index>& entries) {
  std::vector<TensorOf<T>> parts;
  for (const Index entry : entries) parts.push_back(cast<T>(slice(from, axis, entry, 1)));
  return concatenate(parts, axis);
}

template <class T>
void add(TensorOf<T>& to, const TensorOf<T>& share) {
  for (Index i = 0; i < to.size(); ++i) to[i] += share[i];
}

/// Calls `compute` with the first row and the number of rows of one piece after another: the reference holds
/// every score of a head at once.
template <class T>
void in_pieces(Index rows, Index keys, const char* what, const Progress& progress,
               const std::function<void(Index, Index)>& compute) {
  const Index step = std::max<Index>(1, scores_at_once / keys);
  for (Index first = 0; first < rows; first += step) {
    progress(fmt::format("comparing with float{} {}, {} %", 8 * sizeof(T), what, 100 * first / rows));
    compute(first, std::min(step, rows - first));
  }
}

/// o and lse of some of the rows.
template <class T>
NamedTensors forward_outputs(const Input& input, const std::vector<Index>& rows, const Progress& progress) {
  const TensorOf<T> q = picked<T>(input.q, 1, rows), k = cast<T>(input.k), v = cast<T>(input.v);
  std::vector<TensorOf<T>> o, lse;
  in_pieces<T>(q.extent(1), k.extent(1), "attention", progress, [&](Index first, Index count) {
    const reference::Attention<T> piece = reference::attention(slice(q, 1, first, count), k, v);
    o.push_back(piece.o);
    lse.push_back(piece.lse);
  });
  return {{"o", cast<double>(concatenate(o, 1))}, {"lse", cast<double>(concatenate(lse, 1))}};
}

/// The gradients of some heads; the shares of the queries in dk and dv are added up.
template <class T>
NamedTensors gradients(const Input& input, const std::vector<Index>& heads, const Progress& progress) {
  const TensorOf<T> q = picked<T>(input.q, 0, heads), k = picked<T>(input.k, 0, heads),
                    v = picked<T>(input.v, 0, heads), d_o = picked<T>(*input.d_o, 0, heads);
  std::vector<TensorOf<T>> dq;
  TensorOf<T> dk(k.shape()), dv(v.shape());
  in_pieces<T>(q.extent(1), k.extent(1), "gradients", progress, [&](Index first, Index count) {
    const auto piece =
        reference::attention_gradients(slice(q, 1, first, count), k, v, slice(d_o, 1, first, count));
    dq.push_back(piece.dq);
    add(dk, piece.dk);
    add(dv, piece.dv);
  });
  return {{"dq", cast<double>(concatenate(dq, 1))}, {"dk", cast<double>(dk)}, {"dv", cast<double>(dv)}};
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

bool Comparison::passed() const {
  return std::ranges::all_of(outputs, &OutputComparison::right);
}

Reference::Reference(const Input& input, const std::vector<int>& shard_tokens, const Progress& progress) {
  const Index seq = input.seq(), heads = input.heads();
  const std::vector<Index> rows = rows_to_compare(shard_tokens, most_scores / (heads * seq));
  blank_.rows = static_cast<Index>(rows.size());
  blank_.seq = seq;
  expect({1, rows, rows_by_shard(rows, shard_tokens)}, forward_outputs<double>(input, rows, progress),
         forward_outputs<float>(input, rows, progress));
  if (!input.d_o) return;
  const std::vector<Index> some = spread(std::clamp<Index>(most_scores / (seq * seq), 1, heads), heads);
  blank_.gradient_heads = static_cast<Index>(some.size());
  blank_.heads = heads;
  expect({0, some, {shard_tokens.begin(), shard_tokens.end()}}, gradients<double>(input, some, progress),
         gradients<float>(input, some, progress));
}

void Reference::expect(const Part& part, const NamedTensors& exact, const NamedTensors& baseline) {
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const auto& [name, value] = exact[i];
    const Tensor64& plain = baseline[i].second;
    expected_.push_back({part, value, {name, {}, {}, relative_error(plain, value), tolerance(plain, value)}});
  }
}

Comparison Reference::compare(const std::map<std::string, Tensor>& outputs) const {
  Comparison result = blank_;
  for (const auto& [part, value, blank] : expected_) {
    const Tensor64 answer = picked<double>(outputs.at(blank.name), part.axis, part.picked);
    OutputComparison& compared = result.outputs.emplace_back(blank);
    compared.overall = deviation(answer, value);
    Index first = 0;
    for (const Index count : part.by_rank) {
      compared.by_rank.push_back(deviation(slice(answer, 1, first, count), slice(value, 1, first, count)));
      first += count;
    }
  }
  return result;
}

}  // namespace course::demo
