// right: every block has a state (m, l, O) of its own, counted from its own maximum, and is then merged with task 1's formula; m starts at the lowest float
#include "online_softmax.hpp"

#include <cmath>
#include <limits>
#include <vector>

namespace lesson02 {

namespace {

constexpr float lowest = std::numeric_limits<float>::lowest();
constexpr float infinity = std::numeric_limits<float>::infinity();

float share_of_first(float x, float y) {
  // sigma(x - y), by whichever exponential is at most 1
  const float e = std::exp(-std::fabs(x - y));
  return x >= y ? 1.0f / (1.0f + e) : e / (1.0f + e);
}

}  // namespace

SoftmaxState merge(SoftmaxState a, SoftmaxState b) {
  if (a.m > b.m) return {a.m, a.l + b.l * std::exp(b.m - a.m)};
  if (b.m > a.m) return {b.m, b.l + a.l * std::exp(a.m - b.m)};
  return {a.m, a.l + b.l};
}

float online_attention_row(std::span<const float> scores, course::MatrixView<const float> values,
                           course::Index block, std::span<float> o) {
  for (float& x : o) x = 0.0f;
  SoftmaxState total{lowest, 0.0f};

  std::vector<float> O(o.size());
  for (course::Index first = 0, count = 0; first < std::ssize(scores); first += count) {
    count = std::ssize(scores) - first;
    if (count > block) count = block;

    SoftmaxState own{lowest, 0.0f};
    for (const float s : scores.subspan(first, count)) {
      if (s > own.m) own.m = s;
    }
    O.assign(o.size(), 0.0f);
    for (course::Index j = first; j < first + count; ++j) {
      const float e = std::exp(scores[j] - own.m);
      if (e == 0.0f) continue;
      own.l += e;
      for (std::size_t c = 0; c < O.size(); ++c) O[c] += e * values(j, c);
    }
    if (own.l == 0.0f) continue;

    const SoftmaxState next = merge(total, own);
    const float keep = std::exp(total.m - next.m);
    const float take = std::exp(own.m - next.m);
    for (std::size_t c = 0; c < O.size(); ++c) o[c] = keep * o[c] + take * O[c];
    total = next;
  }

  // The largest finite score of a row adds e^0 to l, so l is 0 only where there is none.
  if (total.l == 0.0f) return -infinity;
  for (float& x : o) x /= total.l;
  return std::log(total.l) + total.m;
}

void merge_normalised(std::span<float> o, float& lse, std::span<const float> o_b, float lse_b) {
  if (lse == lse_b) {
    for (std::size_t c = 0; c < o.size(); ++c) o[c] = 0.5f * o[c] + 0.5f * o_b[c];
    if (lse != -infinity) lse += std::log(2.0f);
    return;
  }
  const float keep = share_of_first(lse, lse_b);
  const float take = share_of_first(lse_b, lse);
  for (std::size_t c = 0; c < o.size(); ++c) o[c] = keep * o[c] + take * o_b[c];
  const float gap = std::fabs(lse - lse_b);
  lse = (lse > lse_b ? lse : lse_b) + std::log1p(std::exp(-gap));
}

}  // namespace lesson02
