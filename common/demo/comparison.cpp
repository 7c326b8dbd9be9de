#include "demo/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "demo/rounding.hpp"
#include "judge/numbers/compare.hpp"
#include "reference/reference.hpp"

namespace course::demo {

namespace {

/// Scores that the comparison of o may take: two seconds or so of float64 work. That of gradients takes whole
/// heads, and one at least, since a gradient that nobody compared is not right: of 32768 tokens, 16 times as
/// many scores.
constexpr Index most_scores = Index{1} << 26;
/// Scores of one head that are held at once.
constexpr Index scores_at_once = Index{1} << 21;

/// Of o in float32: plain attention keeps not three digits of it.
constexpr double poor_baseline = 1e-3;

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

/// The mask of some queries over all keys, which are counted by their place.
reference::Mask among(const reference::Mask& mask, std::span<const Index> queries, Index keys) {
  std::vector<Index> all(keys);
  std::iota(all.begin(), all.end(), Index{0});
  return mask.among(queries, all);
}

/// o and lse of some of the rows.
template <class T>
NamedTensors forward_outputs(const Input& input, const reference::Mask& mask, std::span<const Index> rows,
                             const Progress& progress) {
  const TensorOf<T> q = take(cast<T>(input.q), 1, rows), k = cast<T>(input.k), v = cast<T>(input.v);
  std::vector<TensorOf<T>> o, lse;
  in_pieces<T>(q.extent(1), k.extent(1), "attention", progress, [&](Index first, Index count) {
    const reference::Attention<T> piece = reference::attention(
        slice(q, 1, first, count), k, v, among(mask, rows.subspan(first, count), k.extent(1)));
    o.push_back(piece.o);
    lse.push_back(piece.lse);
  });
  return {{"o", cast<double>(concatenate(o, 1))}, {"lse", cast<double>(concatenate(lse, 1))}};
}

/// The gradients of some heads; the shares of the queries in dk and dv are added up.
template <class T>
NamedTensors gradients(const Input& input, const reference::Mask& mask, const std::vector<Index>& heads,
                       const Progress& progress) {
  const auto of_heads = [&](const Tensor& whole) { return cast<T>(take(whole, 0, heads)); };
  const TensorOf<T> q = of_heads(input.q), k = of_heads(input.k), v = of_heads(input.v),
                    d_o = of_heads(*input.d_o);
  std::vector<TensorOf<T>> dq;
  TensorOf<T> dk(k.shape()), dv(v.shape());
  std::vector<Index> rows(q.extent(1));
  std::iota(rows.begin(), rows.end(), Index{0});
  in_pieces<T>(q.extent(1), k.extent(1), "gradients", progress, [&](Index first, Index count) {
    const auto piece =
        reference::attention_gradients(slice(q, 1, first, count), k, v, slice(d_o, 1, first, count),
                                       among(mask, std::span(rows).subspan(first, count), k.extent(1)));
    dq.push_back(piece.dq);
    add(dk, piece.dk);
    add(dv, piece.dv);
  });
  return {{"dq", cast<double>(concatenate(dq, 1))}, {"dk", cast<double>(dk)}, {"dv", cast<double>(dv)}};
}

NamedTensors gradients_rounding(const Input& input, const reference::Mask& mask,
                                const std::vector<Index>& heads, Index merges, const Progress& progress) {
  const auto of_heads = [&](const Tensor& whole) { return cast<double>(take(whole, 0, heads)); };
  const Index queries = input.seq() * std::ssize(heads);
  GradientRounding off = rounding_of_gradients(
      of_heads(input.q), of_heads(input.k), of_heads(input.v), of_heads(*input.d_o), mask, merges,
      [&](Index done) {
        progress(fmt::format("adding up what is rounded off, {} %", 100 * done / queries));
      });
  return {{"dq", std::move(off.dq)}, {"dk", std::move(off.dk)}, {"dv", std::move(off.dv)}};
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

Deviation deviation(const Tensor64& answer, const Tensor64& expected, const Tensor64& scale) {
  return {largest_difference(answer, expected), relative_error(answer, expected, scale)};
}

/// What an error is relative to at least: a thousand times what right answers may be off by. Where the
/// expected answer cancels to less, float32 keeps no three digits of it.
Tensor64 least_scale(Tensor64 rounding) {
  for (double& number : rounding.values()) number *= 1e3 * deviations;
  return rounding;
}

Tensor64 sum(Tensor64 a, const Tensor64& b) {
  add(a, b);
  return a;
}

/// `count` of `all`, evenly spread.
std::vector<Index> spread(Index count, Index all) {
  std::vector<Index> picked(count);
  for (Index i = 0; i < count; ++i) picked[i] = i * all / count;
  return picked;
}

/// Of each rank, which of the rows at these positions it owns, by their places among them.
std::vector<std::vector<Index>> places_by_rank(const std::vector<Index>& positions, const Layout& layout) {
  std::vector<std::vector<Index>> places(layout.ranks());
  for (Index i = 0; i < std::ssize(positions); ++i) places[layout.place(positions[i]).rank].push_back(i);
  return places;
}

}  // namespace

std::vector<Index> rows_to_compare(const Layout& layout, Index most) {
  std::vector<Index> rows;
  for (int rank = 0; rank < layout.ranks(); ++rank) {
    const std::vector<Index>& owned = layout.positions(rank);
    const Index tokens = std::ssize(owned);
    const Index share = most >= layout.tokens() ? tokens
                                                : std::clamp<Index>(most * tokens / layout.tokens(),
                                                                    std::min<Index>(1, tokens), tokens);
    for (Index i = 0; i < share; ++i) rows.push_back(owned[share > 1 ? i * (tokens - 1) / (share - 1) : 0]);
  }
  std::ranges::sort(rows);
  return rows;
}

bool Comparison::passed() const {
  return std::ranges::all_of(outputs, &OutputComparison::right);
}

Reference::Reference(const Input& input, const Layout& layout, const reference::Mask& mask,
                     const Progress& progress) {
  const Index seq = input.seq(), heads = input.heads(), merges = layout.ranks();
  const std::vector<Index> rows = rows_to_compare(layout, most_scores / (heads * seq));
  blank_.rows = static_cast<Index>(rows.size());
  blank_.seq = seq;
  NamedTensors forward = forward_outputs<double>(input, mask, rows, progress);
  const AttentionRounding off = rounding_of_attention(forward[0].second, forward[1].second, merges);
  expect({1, rows, places_by_rank(rows, layout)}, {std::move(forward),
                                                   forward_outputs<float>(input, mask, rows, progress),
                                                   {{"o", off.o}, {"lse", off.lse}}});
  if (!input.d_o) return;
  const std::vector<Index> some = spread(std::clamp<Index>(most_scores / (seq * seq), 1, heads), heads);
  blank_.gradient_heads = static_cast<Index>(some.size());
  blank_.heads = heads;
  Part whole{0, some, {}};
  for (int rank = 0; rank < layout.ranks(); ++rank) whole.by_rank.push_back(layout.positions(rank));
  expect(whole,
         {gradients<double>(input, mask, some, progress), gradients<float>(input, mask, some, progress),
          gradients_rounding(input, mask, some, merges, progress)});
}

void Reference::expect(const Part& part, const Computed& computed) {
  for (std::size_t i = 0; i < computed.exact.size(); ++i) {
    const auto& [name, value] = computed.exact[i];
    const Tensor64 &plain = computed.baseline[i].second, &rounding = computed.rounding[i].second;
    const Tensor64 scale = least_scale(rounding);
    const double baseline = relative_error(plain, value, scale);
    const double allowed = tolerance(baseline, relative_error(sum(value, rounding), value, scale));
    expected_.push_back({part, value, scale, {name, {}, {}, baseline, allowed}});
    if (name == "o") blank_.beyond_float32 = relative_error(plain, value) > poor_baseline;
  }
}

Comparison Reference::compare(const std::map<std::string, Tensor>& outputs) const {
  Comparison result = blank_;
  for (const auto& [part, value, scale, blank] : expected_) {
    const Tensor64 answer = cast<double>(take(outputs.at(blank.name), part.axis, part.picked));
    OutputComparison& compared = result.outputs.emplace_back(blank);
    compared.overall = deviation(answer, value, scale);
    for (const std::vector<Index>& rows : part.by_rank)
      compared.by_rank.push_back(
          deviation(take(answer, 1, rows), take(value, 1, rows), take(scale, 1, rows)));
  }
  return result;
}

}  // namespace course::demo
