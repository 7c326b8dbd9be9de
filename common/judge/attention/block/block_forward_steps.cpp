#include "judge/attention/block/block_forward_steps.hpp"

#include <algorithm>

#include "judge/attention/forward.hpp"
#include "judge/numbers/dot.hpp"
#include "tensor/exponential.hpp"

namespace course::block_forward {

namespace {

double factor(Rescale rescale, double m_old, double m_new) {
  const auto exponential = [](double x) { return static_cast<double>(std::exp(static_cast<float>(x))); };
  switch (rescale) {
    case Rescale::Right:
      return exponential(m_old - m_new);
    case Rescale::LeftOut:
      return 1;
    case Rescale::Twice:
      return exponential(2 * (m_old - m_new));
    case Rescale::InvertedOnceSeen:
      if (m_old == -infinity) return 0;
      [[fallthrough]];
    case Rescale::Inverted:
      return exponential(m_new - m_old);
    default:
      return 0;
  }
}

/// Keys first .. first + count - 1, and where those begin that the loop goes through.
struct Keys {
  Index first, count, home;
};

void add_tiles(const Loop& loop, Keys all, Index length, std::vector<Keys>& tiles) {
  const Index last = all.first + (loop.first_block_only ? std::min(length, all.count) : all.count);
  for (Index first = all.first; first < last; first += length) {
    const Index count = std::min(length, all.first + all.count - first);
    if (count == length || loop.short_tile != ShortTile::LeftOut) tiles.push_back({first, count, all.first});
  }
}

std::vector<Keys> tiles_of(const Loop& loop, Index keys, Index block) {
  std::vector<Keys> tiles;
  if (loop.tile == 0) add_tiles(loop, {0, keys, 0}, block, tiles);
  for (Index first = 0; loop.tile != 0 && first < keys; first += block)
    add_tiles(loop, {first, std::min(block, keys - first), first}, loop.tile, tiles);
  return tiles;
}

/// Of `tiles`, those of each block between the first and the last key that one of these queries sees there.
std::vector<Keys> tiles_seen(const std::vector<Keys>& tiles, const reference::Mask& mask, Index first_query,
                             Index last_query, Index block) {
  std::vector<Keys> seen;
  for (const Keys& tile : tiles) {
    Index begin = tile.home + block, end = tile.home;
    for (Index i = first_query; i < last_query; ++i) {
      const auto [first, last] = mask.keys(i);
      if (std::max(first, tile.home) >= std::min(last, tile.home + block)) continue;
      begin = std::min(begin, std::max(first, tile.home));
      end = std::max(end, std::min(last, tile.home + block));
    }
    if (begin < tile.first + tile.count && tile.first < end) seen.push_back(tile);
  }
  return seen;
}

double divisor_of_scores(Scale scale, std::size_t head_dim, Index keys_in_block, Index keys) {
  const auto count = scale == Scale::HeadDim       ? static_cast<double>(head_dim)
                     : scale == Scale::KeysInBlock ? static_cast<double>(keys_in_block)
                                                   : static_cast<double>(keys);
  return std::sqrt(count);
}

double maximum(MaximumOf of, const std::vector<double>& scores, double divisor) {
  if (of == MaximumOf::FirstScore) return scores.front();
  return std::ranges::max(scores) * (of == MaximumOf::UnscaledScores ? divisor : 1);
}

/// One query of one head, k and v [keys, d]; o [d] is written, lse returned.
double run_query(const Loop& loop, const std::vector<Keys>& tiles, std::span<const double> q,
                 MatrixView<const double> k, MatrixView<const double> v, reference::KeyRange seen,
                 std::span<double> o) {
  double m = loop.start;
  double l = 0;
  std::ranges::fill(o, 0.0);
  for (const auto [first, count, home] : tiles) {
    const MatrixView<const double> keys = k.rows(loop.k_from_first_row ? home : first, count);
    const MatrixView<const double> values = v.rows(loop.v_from_first_row ? home : first, count);
    const bool padded = loop.short_tile == ShortTile::Padded || loop.short_tile == ShortTile::PaddedHidden;
    std::vector<double> scores(padded ? std::max(count, loop.tile) : count);
    const Index last =
        loop.short_tile == ShortTile::PaddedHidden ? std::min(seen.last, first + count) : seen.last;
    const double divisor = divisor_of_scores(loop.scale, q.size(), count, k.rows());
    const std::size_t columns = q.size() - q.size() % loop.columns_at_once;
    for (Index j = 0; j < std::ssize(scores); ++j) {
      if (j < count) scores[j] = dot(q.first(columns), keys.row(j).first(columns)) / divisor;
      if (first + j < seen.first || first + j >= last) scores[j] = loop.hidden_score;
    }
    const double m_old = loop.m_stored ? m : loop.start, m_block = maximum(loop.maximum_of, scores, divisor);
    m = std::max(loop.forgets_running_maximum ? -infinity : m_old, m_block);
    if (loop.rise_ignored > 0 && m <= m_old + loop.rise_ignored) m = m_old;
    if (loop.without_maximum) m = 0;
    const double shift = m == -infinity && loop.nothing_seen_apart ? 0 : m;
    l *= factor(loop.l, m_old, shift);
    for (double& value : o) value *= factor(loop.o, m_old, shift);
    const bool is_left_out = loop.not_raised != NotRaised::Right && m == m_old;
    if (is_left_out && loop.not_raised == NotRaised::LeftOut) continue;
    const double origin = loop.terms_from_block_maximum ? m_block : shift;
    std::vector<double> before;  // what was there, if that is still to be told apart
    if (loop.terms_divided) before.assign(o.begin(), o.end());
    for (Index j = 0; j < std::ssize(scores); ++j) {
      const double p = is_left_out ? scores[j] : loop.exponential(static_cast<float>(scores[j] - origin));
      l += is_left_out ? 0 : p;
      for (std::size_t c = 0; j < count && c < o.size(); ++c) o[c] += p * values(j, static_cast<Index>(c));
    }
    for (double& value : o) value /= loop.divide_every_block ? l : 1;
    for (std::size_t c = 0; c < before.size(); ++c) o[c] = before[c] + (o[c] - before[c]) / l;
    l = static_cast<float>(l);
    for (double& value : o) value = static_cast<float>(value);
  }
  if (!loop.m_stored) m = loop.start;
  const bool divides = loop.divide_at_end && (l > 0 || (loop.divide_by_zero && m > -infinity));
  for (double& value : o) value /= divides ? l : 1;
  return (loop.lse_without_m ? 0 : m) + (loop.lse_without_log && l > 0 ? l : std::log(l));
}

}  // namespace

Answer run(const Loop& loop, const Example& example) {
  const Tensor64 q = input(example, "q");
  const Tensor64 k = input(example, "k");
  const Tensor64 v = input(example, "v");
  const reference::Mask mask = keys_seen(example);
  const Index queries = q.extent(1), block = integer(example, "block");
  const std::vector<Keys> all = tiles_of(loop, k.extent(1), block);
  Answer result{{"o", Tensor64(q.shape())}, {"lse", Tensor64({q.extent(0), queries})}};
  std::vector<Keys> tiles = all;
  for (Index i = 0; i < queries; ++i) {
    if (loop.query_tile != 0 && i % loop.query_tile == 0)
      tiles = tiles_seen(all, mask, i, std::min(i + loop.query_tile, queries), block);
    for (Index head = 0; head < q.extent(0); ++head) {
      result["lse"].matrix()(head, i) =
          run_query(loop, tiles, q.heads().head(head).row(i), k.heads().head(head), v.heads().head(head),
                    mask.keys(i), result["o"].heads().head(head).row(i));
    }
  }
  return result;
}

const std::map<std::string, std::string>& words_of_loops() {
  static const std::map<std::string, std::string> words{
      {"m_not_stored",
       "every answer is as if m were never stored: each block starts anew, and m is -inf after the last"},
      {"normalised_not_reweighed",
       "every answer is as if o were kept divided by l, and what it was multiplied by exp(m_old - m_new) "
       "alone: it also needs "
       "l_old / l_new"},
      {"maximum_unscaled",
       "every answer is as if m were the largest score before it is divided by sqrt(head_dim)"},
      {"maximum_of_first_score",
       "every answer is as if the first score of a block were taken for the block's maximum"}};
  return words;
}

std::vector<WrongSteps<Loop>> wrong_loops() {
  using enum Rescale;
  std::vector<WrongSteps<Loop>> all{
      {"o_not_rescaled", {.o = LeftOut}},
      {"l_not_rescaled", {.l = LeftOut}},
      {"neither_rescaled", {.l = LeftOut, .o = LeftOut}},
      {"overwritten_not_accumulated", {.o = Dropped}},
      {"rescale_by_block_maximum", {.forgets_running_maximum = true}},
      {"first_rows_every_block", {.k_from_first_row = true, .v_from_first_row = true}},
      {"first_rows_every_block", {.k_from_first_row = true}},
      {"first_rows_every_block", {.v_from_first_row = true}},
      {"divided_every_block", {.divide_every_block = true}},
      {"divided_every_block", {.divide_every_block = true, .divide_at_end = false}},
      {"final_division_missing", {.divide_at_end = false}},
      {"first_block_only", {.first_block_only = true}},
      {"lower_block_skipped", {.not_raised = NotRaised::LeftOut}},
      {"lower_block_skipped", {.not_raised = NotRaised::RawInO}},
      {"terms_from_block_maximum", {.terms_from_block_maximum = true}},
      {"rescaled_twice", {.o = Twice}},
      {"lse_without_log", {.lse_without_log = true}},
      {"lse_without_m", {.lse_without_m = true}}};
  for (const bool divides : {true, false}) {
    all.push_back({"m_not_stored", {.m_stored = false, .divide_at_end = divides}});
    all.push_back({"normalised_not_reweighed", {.terms_divided = true, .divide_at_end = divides}});
  }
  for (float (*const exponential)(float) : {static_cast<float (*)(float)>(std::exp), course::exponential}) {
    for (const bool by_zero : {false, true}) {
      const Loop loop{.divide_by_zero = by_zero, .exponential = exponential};
      Loop from_zero = loop, no_maximum = loop, new_l = loop, new_l_and_o = loop;
      from_zero.start = 0;
      no_maximum.without_maximum = true;
      for (const double start : {-1e4, -5e4, -1e9}) {
        Loop from_finite = loop;
        from_finite.start = start;
        all.push_back({"m_starts_at_minus_1e4", from_finite});
      }
      new_l.l = new_l_and_o.l = new_l_and_o.o = Dropped;
      Loop unscaled = loop, first_score = loop;
      unscaled.maximum_of = MaximumOf::UnscaledScores;
      first_score.maximum_of = MaximumOf::FirstScore;
      all.insert(all.end(), {{"m_starts_at_zero", from_zero},
                             {"no_maximum", no_maximum},
                             {"maximum_unscaled", unscaled},
                             {"maximum_of_first_score", first_score},
                             {"overwritten_not_accumulated", new_l},
                             {"overwritten_not_accumulated", new_l_and_o}});
    }
  }
  // Between 89 and 103, a threshold tells itself from others on the inputs where it lies between two rises.
  for (const double rise : {89.0, 100.0, 104.0})
    all.push_back({"rescaled_too_seldom", {.rise_ignored = rise}});
  for (const Rescale inverted : {Inverted, InvertedOnceSeen})
    all.push_back({"rescale_inverted", {.l = inverted, .o = inverted}});
  return all;
}

}  // namespace course::block_forward
