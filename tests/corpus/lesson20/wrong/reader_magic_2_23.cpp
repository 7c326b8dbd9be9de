// wrong: 2^23 is added for rounding and not 1.5 * 2^23, so that the sum falls below 2^23 for negative n
// line: constexpr float magic = 8388608.0f;
// rating: not led
#include "vector_registers.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson20 {

using course::lanes;
using course::Lanes;

namespace {

constexpr double log2_e = 1.4426950408889634;
constexpr bool many_registers = lanes == 16;
constexpr int tile_vectors = 3;       // vectors of queries in a tile
constexpr int forward_keys = 128;     // keys a block, forward
constexpr int backward_keys = 64;     // keys a block, backward
constexpr int columns_at_once = many_registers ? 8 : 4;

/// How many rows a tile has, v vectors wide.
constexpr int rows_beside(int v) {
  if (many_registers) return v == 1 ? 16 : v == 2 ? 8 : v == 3 ? 8 : 6;
  return v == 1 ? 8 : v == 2 ? 4 : v == 3 ? 4 : 2;
}

void require_d(Index d) {
  if (d < 4 || d > 256 || d % 4 != 0)
    throw std::invalid_argument("d = " + std::to_string(d) + " is no multiple of 4 from 4 to 256");
}

/// Room for `count` numbers, from a multiple of 64 bytes on, so that no vector lies on two lines of the cache.
/// A thread keeps it from call to call: a large vector's pages would be mapped anew in each.
float* room_for(Index count) {
  thread_local std::vector<float> memory;
  if (Index(memory.size()) != count + 16) memory = std::vector<float>(count + 16);
  const auto past = reinterpret_cast<std::uintptr_t>(memory.data()) % 64;
  return memory.data() + (past == 0 ? 0 : (64 - past) / sizeof(float));
}

struct Exponential {
  Lanes least = course::hidden(-125.0f);

  /// x = 2^x
  template <int v>
  [[gnu::always_inline]] inline void operator()(Lanes (&x)[v]) const {
    constexpr float magic = 8388608.0f;
    Lanes sum[v], f[v], p[v];
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) x[t] = course::maximum(least, x[t]);
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) sum[t] = x[t] + magic;
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) f[t] = x[t] - (sum[t] - magic);
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) p[t] = f[t] * 0.00132647285f + 0.00967151299f;
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) p[t] = p[t] * f[t] + 0.0555073358f;
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) p[t] = p[t] * f[t] + 0.240222424f;
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) p[t] = p[t] * f[t] + 0.693147004f;
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) p[t] = p[t] * f[t] + 1.0f;
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t)
      x[t] = course::as_floats(course::as_integers(p[t]) + (course::as_integers(sum[t]) << 23));
  }
};

/// sums[i][t] += a_i(n) * b(n)[t] over n < count. Row n of b begins at b + n * b_stride. Of a, either the
/// numbers of one n lie side by side, a[n * a_stride + i], or those of one i, a[i * a_stride + n].
template <bool side_by_side, int r, int v>
[[gnu::always_inline]] inline void multiply(Lanes (&sums)[r][v], const float* a, Index a_stride,
                                            const float* b, Index b_stride, Index count) {
  for (Index n = 0; n < count; ++n) {
    Lanes y[v];
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) y[t] = course::load(b + n * b_stride + t * lanes);
#pragma GCC unroll 16
    for (int i = 0; i < r; ++i) {
      const Lanes x = course::splat(side_by_side ? a[n * a_stride + i] : a[i * a_stride + n]);
#pragma GCC unroll 16
      for (int t = 0; t < v; ++t) sums[i][t] += x * y[t];
    }
  }
}

/// r rows of s: products of r keys with v vectors of queries, which begin at start.
template <int r, int v>
void scores(const float* k, Index k_stride, const float* qt, Index d, const Lanes (&start)[v], float* s) {
  Lanes sums[r][v];
#pragma GCC unroll 16
  for (int i = 0; i < r; ++i)
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) sums[i][t] = start[t];
  multiply<false>(sums, k, k_stride, qt, v * lanes, d);
#pragma GCC unroll 16
  for (int i = 0; i < r; ++i)
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) course::store(sums[i][t], s + (i * v + t) * lanes);
}

template <int v>
void all_scores(MatrixView<const float> k, const float* qt, const Lanes (&start)[v], float* s) {
  constexpr int r = rows_beside(v);
  Index j = 0;
  for (; j + r <= k.rows(); j += r)
    scores<r, v>(k.data() + j * k.row_stride(), k.row_stride(), qt, k.cols(), start, s + j * v * lanes);
  for (; j < k.rows(); ++j)
    scores<1, v>(k.data() + j * k.row_stride(), k.row_stride(), qt, k.cols(), start, s + j * v * lanes);
}

/// As scores; each sum goes into the maximum top as well.
template <int r, int v>
[[gnu::always_inline]] inline void scores_and_maximum(const float* k, Index k_stride, const float* qt,
                                                      Index d, Lanes (&top)[v], float* s) {
  Lanes sums[r][v];
#pragma GCC unroll 16
  for (int i = 0; i < r; ++i)
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) sums[i][t] = Lanes{};
  multiply<false>(sums, k, k_stride, qt, v * lanes, d);
#pragma GCC unroll 16
  for (int i = 0; i < r; ++i)
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) {
      course::store(sums[i][t], s + (i * v + t) * lanes);
      top[t] = course::maximum(top[t], sums[i][t]);
    }
}

/// r rows of ot, from column c of x on: ot = ot * factor + sum over rows j of x and p.
template <int r, int v>
[[gnu::always_inline]] inline void weighted_rows(const float* x, Index x_stride, const float* p, Index count,
                                                 const Lanes (&factor)[v], float* ot) {
  Lanes sums[r][v];
#pragma GCC unroll 16
  for (int i = 0; i < r; ++i)
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) sums[i][t] = course::load(ot + (i * v + t) * lanes) * factor[t];
  multiply<true>(sums, x, x_stride, p, v * lanes, count);
#pragma GCC unroll 16
  for (int i = 0; i < r; ++i)
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) course::store(sums[i][t], ot + (i * v + t) * lanes);
}

template <int v>
void weighted_sum(MatrixView<const float> x, const float* p, const Lanes (&factor)[v], float* ot) {
  const Index d = x.cols();
  Index c = 0;
  for (; c + columns_at_once <= d; c += columns_at_once)
    weighted_rows<columns_at_once, v>(x.data() + c, x.row_stride(), p, x.rows(), factor, ot + c * v * lanes);
  for (; c < d; c += 4)
    weighted_rows<4, v>(x.data() + c, x.row_stride(), p, x.rows(), factor, ot + c * v * lanes);
}

/// to[c, i] = factor * from(first + i, c), zeros behind the last query; rows of `width` numbers.
void pack(MatrixView<const float> from, Index first, Index count, float factor, Index width, float* to) {
  const Index d = from.cols();
  for (Index i = 0; i < count; ++i) {
    const float* const row = from.data() + (first + i) * from.row_stride();
    for (Index c = 0; c < d; ++c) to[c * width + i] = factor * row[c];
  }
  for (Index i = count; i < width; ++i)
    for (Index c = 0; c < d; ++c) to[c * width + i] = 0;
}

/// Rows as they lie, padded to `padded` columns.
void pack_rows(MatrixView<const float> from, Index first, Index count, float factor, Index padded, float* to) {
  const Index d = from.cols();
  for (Index i = 0; i < count; ++i) {
    const float* const row = from.data() + (first + i) * from.row_stride();
    for (Index c = 0; c < d; ++c) to[i * padded + c] = factor * row[c];
    for (Index c = d; c < padded; ++c) to[i * padded + c] = 0;
  }
}

template <int v>
void attend_tile(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v_,
                 std::span<float> m, std::span<float> l, MatrixView<float> o, Index first, Index count,
                 float* room) {
  constexpr Index width = v * lanes;
  const Index d = q.cols();
  float* qt = room;
  float* ot = qt + d * width;
  float* s = ot + d * width;
  pack(q, first, count, float(log2_e / std::sqrt(double(d))), width, qt);
  pack(o, first, count, 1.0f, width, ot);

  // m in base 2 is rounded: let l and O count from what it is then.
  float in[width], sum_in[width];
  for (Index i = 0; i < width; ++i) {
    in[i] = -std::numeric_limits<float>::infinity();
    sum_in[i] = 0;
    if (i >= count) continue;
    const float natural = m[first + i];
    if (natural == -std::numeric_limits<float>::infinity()) continue;
    in[i] = float(natural * log2_e);
    const float cure = std::exp2(float(natural * log2_e - in[i]));
    sum_in[i] = l[first + i] * cure;
    for (Index c = 0; c < d; ++c) ot[c * width + i] *= cure;
  }
  Lanes old[v], sum[v];
#pragma GCC unroll 16
  for (int t = 0; t < v; ++t) {
    old[t] = course::load(in + t * lanes);
    sum[t] = course::load(sum_in + t * lanes);
  }

  const Exponential exponential;
  for (Index from = 0; from < k.rows(); from += forward_keys) {
    const Index keys = std::min<Index>(forward_keys, k.rows() - from);
    Lanes top[v], factor[v];
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) top[t] = old[t];
    constexpr int r = rows_beside(v);
    const float* row = k.data() + from * k.row_stride();
    Index j = 0;
    for (; j + r <= keys; j += r)
      scores_and_maximum<r, v>(row + j * k.row_stride(), k.row_stride(), qt, d, top, s + j * width);
    for (; j < keys; ++j)
      scores_and_maximum<1, v>(row + j * k.row_stride(), k.row_stride(), qt, d, top, s + j * width);

#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) factor[t] = old[t] - top[t];
    exponential(factor);
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) {
      old[t] = top[t];
      sum[t] = sum[t] * factor[t];
    }

    for (j = 0; j < keys; ++j) {
      Lanes x[v];
#pragma GCC unroll 16
      for (int t = 0; t < v; ++t) x[t] = course::load(s + j * width + t * lanes) - top[t];
      exponential(x);
#pragma GCC unroll 16
      for (int t = 0; t < v; ++t) {
        course::store(x[t], s + j * width + t * lanes);
        sum[t] += x[t];
      }
    }
    weighted_sum<v>(v_.rows(from, keys), s, factor, ot);
  }

#pragma GCC unroll 16
  for (int t = 0; t < v; ++t) {
    course::store(old[t], in + t * lanes);
    course::store(sum[t], sum_in + t * lanes);
  }
  for (Index i = 0; i < count; ++i) {
    const float natural = float(in[i] / log2_e);
    const float cure = std::exp2(float(in[i] - natural * log2_e));
    m[first + i] = natural;
    l[first + i] = sum_in[i] * cure;
    float* const row = o.data() + (first + i) * o.row_stride();
    for (Index c = 0; c < d; ++c) row[c] = ot[c * width + i] * cure;
  }
}

/// r rows of to, from a column on: v full vectors of columns. to[j] += sum_i p[j, i] * x[i].
template <int r, int v>
[[gnu::always_inline]] inline void turned(const float* p, Index p_stride, const float* x, Index x_stride,
                                          Index queries, float* to, Index to_stride) {
  Lanes sums[r][v];
#pragma GCC unroll 16
  for (int i = 0; i < r; ++i)
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) sums[i][t] = course::load(to + i * to_stride + t * lanes);
  multiply<false>(sums, p, p_stride, x, x_stride, queries);
#pragma GCC unroll 16
  for (int i = 0; i < r; ++i)
#pragma GCC unroll 16
    for (int t = 0; t < v; ++t) course::store(sums[i][t], to + i * to_stride + t * lanes);
}

template <int v>
void turned_keys(const float* p, Index p_stride, Index keys, const float* x, Index x_stride, Index queries,
                 float* to, Index to_stride) {
  constexpr int r = many_registers ? (v == 4 ? 4 : 8) : (v == 2 ? 4 : 8);
  Index j = 0;
  for (; j + r <= keys; j += r)
    turned<r, v>(p + j * p_stride, p_stride, x, x_stride, queries, to + j * to_stride, to_stride);
  for (; j < keys; ++j)
    turned<1, v>(p + j * p_stride, p_stride, x, x_stride, queries, to + j * to_stride, to_stride);
}

/// to[j, c] += sum_i p[j, i] x[i, c]
void add_turned(const float* p, Index p_stride, const float* x, Index x_stride, Index queries,
                MatrixView<float> to) {
  const Index d = to.cols(), keys = to.rows();
  constexpr int wide = many_registers ? 4 : 2;
  Index c = 0;
  for (; c + wide * lanes <= d; c += wide * lanes)
    turned_keys<wide>(p, p_stride, keys, x + c, x_stride, queries, to.data() + c, to.row_stride());
  if (many_registers && c + 2 * lanes <= d) {
    turned_keys<2>(p, p_stride, keys, x + c, x_stride, queries, to.data() + c, to.row_stride());
    c += 2 * lanes;
  }
  for (; c + lanes <= d; c += lanes)
    turned_keys<1>(p, p_stride, keys, x + c, x_stride, queries, to.data() + c, to.row_stride());
  if (c == d) return;
  // Less than a vector of columns is left.
  for (Index j = 0; j < keys; ++j) {
    float part[lanes] = {};
    for (Index e = c; e < d; ++e) part[e - c] = to(j, e);
    turned<1, 1>(p + j * p_stride, p_stride, x + c, x_stride, queries, part, lanes);
    for (Index e = c; e < d; ++e) to(j, e) = part[e - c];
  }
}

template <int v>
void backward_tile(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v_,
                   MatrixView<const float> d_o, std::span<const float> lse, std::span<const float> delta,
                   std::span<const Index> visible, MatrixView<float> dq, MatrixView<float> dk,
                   MatrixView<float> dv, Index first, Index count, float* room) {
  constexpr Index width = v * lanes;
  const Index d = q.cols(), padded = (d + lanes - 1) / lanes * lanes;
  const float scale = float(1 / std::sqrt(double(d)));
  float* qt = room;
  float* dot = qt + d * width;
  float* dqt = dot + d * width;
  float* rows_q = dqt + d * width;
  float* rows_do = rows_q + padded * width;
  float* p = rows_do + padded * width;
  float* ds = p + backward_keys * width;

  float seen[width], score_start[width], dp_start[width];
  Index least = k.rows(), most = 0;
  for (Index i = 0; i < width; ++i) {
    seen[i] = score_start[i] = dp_start[i] = 0;
    if (i >= count) continue;
    if (lse[first + i] == -std::numeric_limits<float>::infinity()) {
      least = 0;
      continue;
    }
    seen[i] = float(visible[first + i]);
    score_start[i] = float(-lse[first + i] * log2_e);
    dp_start[i] = -delta[first + i];
    least = std::min(least, visible[first + i]);
    most = std::max(most, visible[first + i]);
  }
  if (most == 0) return;

  pack(q, first, count, float(log2_e / std::sqrt(double(d))), width, qt);
  pack(d_o, first, count, 1.0f, width, dot);
  pack_rows(q, first, count, scale, padded, rows_q);
  pack_rows(d_o, first, count, 1.0f, padded, rows_do);
  std::fill(dqt, dqt + d * width, 0.0f);

  Lanes limit[v], begin_s[v], begin_dp[v], one[v];
#pragma GCC unroll 16
  for (int t = 0; t < v; ++t) {
    limit[t] = course::load(seen + t * lanes);
    begin_s[t] = course::load(score_start + t * lanes);
    begin_dp[t] = course::load(dp_start + t * lanes);
    one[t] = course::splat(1.0f);
  }

  const Exponential exponential;
  for (Index from = 0; from < most; from += backward_keys) {
    const Index keys = std::min<Index>(backward_keys, most - from);
    all_scores<v>(k.rows(from, keys), qt, begin_s, p);
    all_scores<v>(v_.rows(from, keys), dot, begin_dp, ds);
    const bool masked = from + keys > least;
    for (Index j = 0; j < keys; ++j) {
      Lanes x[v];
#pragma GCC unroll 16
      for (int t = 0; t < v; ++t) x[t] = course::load(p + j * width + t * lanes);
      exponential(x);
      if (masked) {
        const Lanes key = course::splat(float(from + j));
#pragma GCC unroll 16
        for (int t = 0; t < v; ++t) x[t] = key < limit[t] ? x[t] : Lanes{};
      }
#pragma GCC unroll 16
      for (int t = 0; t < v; ++t) {
        course::store(x[t], p + j * width + t * lanes);
        course::store(x[t] * course::load(ds + j * width + t * lanes), ds + j * width + t * lanes);
      }
    }
    weighted_sum<v>(k.rows(from, keys), ds, one, dqt);
    add_turned(p, width, rows_do, padded, count, dv.rows(from, keys));
    add_turned(ds, width, rows_q, padded, count, dk.rows(from, keys));
  }

  for (Index i = 0; i < count; ++i) {
    float* const row = dq.data() + (first + i) * dq.row_stride();
    for (Index c = 0; c < d; ++c) row[c] += scale * dqt[c * width + i];
  }
}

}  // namespace

void powers_of_two(std::span<const float> x, std::span<float> y) {
  if (x.size() != y.size() || x.size() % lanes != 0)
    throw std::invalid_argument(std::to_string(x.size()) + " numbers x and " + std::to_string(y.size()) +
                                " numbers y; both must be the same multiple of " + std::to_string(lanes));
  const Exponential exponential;
  for (std::size_t i = 0; i < x.size(); i += lanes) {
    Lanes z[1] = {course::load(x.data() + i)};
    exponential(z);
    course::store(z[0], y.data() + i);
  }
}

template <int v>
static void whole_tile(MatrixView<const float> k, const float* qt, std::span<const float> start, float* s) {
  Lanes begin[v];
  for (int t = 0; t < v; ++t) begin[t] = course::load(start.data() + t * lanes);
  all_scores<v>(k, qt, begin, s);
}

void score_tile(MatrixView<const float> k, MatrixView<const float> qt, std::span<const float> start,
                MatrixView<float> s) {
  const Index n = qt.cols();
  if (n % lanes != 0 || n < lanes || n > 4 * lanes)
    throw std::invalid_argument(std::to_string(n) + " queries, expected 1 to 4 times " + std::to_string(lanes));
  switch (n / lanes) {
    case 1: return whole_tile<1>(k, qt.data(), start, s.data());
    case 2: return whole_tile<2>(k, qt.data(), start, s.data());
    case 3: return whole_tile<3>(k, qt.data(), start, s.data());
    case 4: return whole_tile<4>(k, qt.data(), start, s.data());
  }
}

void attend_block(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                  std::span<float> m, std::span<float> l, MatrixView<float> o) {
  const Index d = q.cols();
  require_d(d);
  if (k.rows() == 0) return;
  float* const room = room_for(tile_vectors * lanes * (2 * d + forward_keys));
  for (Index first = 0; first < q.rows();) {
    const Index count = std::min<Index>(tile_vectors * lanes, q.rows() - first);
    if (count > 2 * lanes) {
      attend_tile<3>(q, k, v, m, l, o, first, count, room);
    } else if (count > lanes) {
      attend_tile<2>(q, k, v, m, l, o, first, count, room);
    } else {
      attend_tile<1>(q, k, v, m, l, o, first, count, room);
    }
    first += count;
  }
}

void block_backward(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                    MatrixView<const float> d_o, std::span<const float> lse, std::span<const float> delta,
                    std::span<const Index> visible, MatrixView<float> dq, MatrixView<float> dk,
                    MatrixView<float> dv) {
  const Index d = q.cols(), padded = (d + lanes - 1) / lanes * lanes;
  require_d(d);
  float* const room = room_for(tile_vectors * lanes * (3 * d + 2 * padded + 2 * backward_keys));
  for (Index first = 0; first < q.rows();) {
    const Index count = std::min<Index>(tile_vectors * lanes, q.rows() - first);
    if (count > 2 * lanes) {
      backward_tile<3>(q, k, v, d_o, lse, delta, visible, dq, dk, dv, first, count, room);
    } else if (count > lanes) {
      backward_tile<2>(q, k, v, d_o, lse, delta, visible, dq, dk, dv, first, count, room);
    } else {
      backward_tile<1>(q, k, v, d_o, lse, delta, visible, dq, dk, dv, first, count, room);
    }
    first += count;
  }
}

}  // namespace lesson20
