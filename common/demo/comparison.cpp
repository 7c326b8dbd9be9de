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

/// Calls `compute` with the first row and the number of rows of one piece after another, of which so many
/// scores a row are held at once.
template <class T>
void in_pieces(Index rows, Index scores, const char* what, const Progress& progress,
               const std::function<void(Index, Index)>& compute) {
  const Index step = std::max<Index>(1, scores_at_once / scores);
  for (Index first = 0; first < rows; first += step) {
    progress(fmt::format("comparing with float{} {}, {} %", 8 * sizeof(T), what, 100 * first / rows));
    compute(first, std::min(step, rows - first));
  }
}

std::vector<Index> from_zero(Index count) {
  std::vector<Index> all(count);
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

/// Some heads' numbers, where each has one.
std::vector<double> of_heads(const std::vector<double>& numbers, const std::vector<Index>& heads) {
  std::vector<double> taken;
  for (const Index head : heads)
    if (!numbers.empty()) taken.push_back(numbers[head]);
  return taken;
}

/// What some heads of q are given, with the heads of keys that they share.
template <class T>
struct Heads {
  Heads(const Input& input, const Seeing& all, const std::vector<Index>& heads,
        const std::vector<Index>& kv_heads)
      : seeing{all.mask, {of_heads(all.bias.slopes, heads), of_heads(all.bias.sinks, heads)}},
        keys(input.seq()),
        q(cast<T>(take(input.q, 0, heads))),
        k(reference::with_sink(cast<T>(take(input.k, 0, kv_heads)), seeing.bias)),
        v(reference::with_sink(cast<T>(take(input.v, 0, kv_heads)), seeing.bias)) {}

  /// The mask of some queries over all keys, where nothing is added to scores.
  reference::Mask mask(std::span<const Index> queries) const {
    return seeing.bias.is_none() ? seeing.mask.among(queries, from_zero(keys)) : reference::Mask::none();
  }
  /// And where something is, that with the mask in it.
  TensorOf<T> bias(std::span<const Index> queries) const {
    if (seeing.bias.is_none()) return {};
    return reference::score_bias<T>(seeing.mask, seeing.bias, q.extent(0), queries, keys);
  }
  /// Scores that are held for each query.
  Index scores() const { return keys * (seeing.bias.is_none() ? 1 : q.extent(0)); }

  Seeing seeing;
  Index keys;
  TensorOf<T> q, k, v;
};

/// o and lse of some of the rows.
template <class T>
NamedTensors forward_outputs(const Heads<T>& x, std::span<const Index> rows, const Progress& progress) {
  const TensorOf<T> q = take(x.q, 1, rows);
  std::vector<TensorOf<T>> o, lse;
  in_pieces<T>(q.extent(1), x.scores(), "attention", progress, [&](Index first, Index count) {
    const std::span<const Index> queries = rows.subspan(first, count);
    const reference::Attention<T> piece =
        reference::attention(slice(q, 1, first, count), x.k, x.v, x.mask(queries), x.bias(queries));
    o.push_back(piece.o);
    lse.push_back(piece.lse);
  });
  return {{"o", cast<double>(concatenate(o, 1))}, {"lse", cast<double>(concatenate(lse, 1))}};
}

/// The gradients of some heads; the shares of the queries in dk and dv are added up.
template <class T>
NamedTensors gradients(const Heads<T>& x, const TensorOf<T>& d_o, const Progress& progress) {
  std::vector<TensorOf<T>> dq;
  TensorOf<T> dk(x.k.shape()), dv(x.v.shape());
  const std::vector<Index> rows = from_zero(x.q.extent(1));
  in_pieces<T>(x.q.extent(1), x.scores(), "gradients", progress, [&](Index first, Index count) {
    const std::span<const Index> queries = std::span(rows).subspan(first, count);
    const auto piece =
        reference::attention_gradients(slice(x.q, 1, first, count), x.k, x.v, slice(d_o, 1, first, count),
                                       x.mask(queries), {}, x.bias(queries));
    dq.push_back(piece.dq);
    add(dk, piece.dk);
    add(dv, piece.dv);
  });
  const auto of_tokens = [&](const TensorOf<T>& gradient) {  // without the sink's key
    return cast<double>(slice(gradient, 1, 0, x.keys));
  };
  return {{"dq", cast<double>(concatenate(dq, 1))}, {"dk", of_tokens(dk)}, {"dv", of_tokens(dv)}};
}

NamedTensors gradients_rounding(const Heads<double>& x, const Tensor64& d_o, Index merges,
                                const Progress& progress) {
  const Index queries = x.q.extent(0) * x.q.extent(1);
  GradientRounding off =
      rounding_of_gradients(x.q, x.k, x.v, d_o, x.seeing.mask, x.seeing.bias, merges, [&](Index done) {
        progress(fmt::format("adding up what is rounded off, {} %", 100 * done / queries));
      });
  return {
      {"dq", std::move(off.dq)}, {"dk", slice(off.dk, 1, 0, x.keys)}, {"dv", slice(off.dv, 1, 0, x.keys)}};
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

Reference::Reference(const Input& input, const Layout& layout, const Seeing& seeing,
                     const Progress& progress) {
  const Index seq = input.seq(), heads = input.heads(), merges = layout.ranks();
  const std::vector<Index> rows = rows_to_compare(layout, most_scores / (heads * seq));
  blank_.rows = static_cast<Index>(rows.size());
  blank_.seq = seq;
  const std::vector<Index> all = from_zero(heads), all_kv = from_zero(input.kv_heads());
  NamedTensors forward = forward_outputs<double>({input, seeing, all, all_kv}, rows, progress);
  const AttentionRounding off = rounding_of_attention(forward[0].second, forward[1].second, merges);
  const Part of_rows{1, rows, places_by_rank(rows, layout)};
  expect({of_rows, of_rows}, {std::move(forward),
                              forward_outputs<float>({input, seeing, all, all_kv}, rows, progress),
                              {{"o", off.o}, {"lse", off.lse}}});
  if (!input.d_o) return;
  const Index group = heads / input.kv_heads();
  const std::vector<Index> kv =
      spread(std::clamp<Index>(most_scores / (seq * seq * group), 1, input.kv_heads()), input.kv_heads());
  std::vector<Index> some;
  for (const Index head : kv)
    for (Index i = 0; i < group; ++i) some.push_back(head * group + i);
  blank_.gradient_heads = static_cast<Index>(some.size());
  blank_.heads = heads;
  const Heads<double> exact(input, seeing, some, kv);
  const Tensor64 d_o = cast<double>(take(*input.d_o, 0, some));
  Part of_q{0, some, {}};
  for (int rank = 0; rank < layout.ranks(); ++rank) of_q.by_rank.push_back(layout.positions(rank));
  const Part of_kv{0, kv, of_q.by_rank};
  expect({of_q, of_kv, of_kv}, {gradients<double>(exact, d_o, progress),
                                gradients<float>({input, seeing, some, kv}, cast<float>(d_o), progress),
                                gradients_rounding(exact, d_o, merges, progress)});
}

void Reference::expect(const std::vector<Part>& parts, const Computed& computed) {
  for (std::size_t i = 0; i < computed.exact.size(); ++i) {
    const auto& [name, value] = computed.exact[i];
    const Tensor64 &plain = computed.baseline[i].second, &rounding = computed.rounding[i].second;
    const Tensor64 scale = least_scale(rounding);
    const double baseline = relative_error(plain, value, scale);
    const double allowed = tolerance(baseline, relative_error(sum(value, rounding), value, scale));
    expected_.push_back({parts[i], value, scale, {name, {}, {}, baseline, allowed}});
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
