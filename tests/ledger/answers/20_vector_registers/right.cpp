#include "vector_registers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson20 {

using course::lanes;
using course::Lanes;

namespace {

// Loops over a tile have to be unrolled, or its sums live in memory: at -O2 only a pragma does that.
#define EACH(i, count) _Pragma("GCC unroll 16") for (int i = 0; i < (count); ++i)

/// 2^e for e <= 0, of several vectors a step at a time: each step waits for the one before, and another
/// vector does not. Below -125 it is 2^-125, so that nothing is subnormal.
template <int count>
[[gnu::always_inline]] inline void raise_two(Lanes (&e)[count], Lanes lowest) {
  constexpr float magic = 12582912.0f;  // 1.5 2^23: a sum with it is rounded to a whole number, n
  Lanes whole[count], p[count];
  EACH(i, count) e[i] = course::maximum(lowest, e[i]);
  EACH(i, count) whole[i] = e[i] + magic;
  EACH(i, count) e[i] -= whole[i] - magic;  // -1/2 .. 1/2
  EACH(i, count) p[i] = e[i] * 0.00132647285f + 0.00967151299f;
  EACH(i, count) p[i] = p[i] * e[i] + 0.0555073358f;
  EACH(i, count) p[i] = p[i] * e[i] + 0.240222424f;
  EACH(i, count) p[i] = p[i] * e[i] + 0.693147004f;
  EACH(i, count) p[i] = p[i] * e[i] + 1.0f;
  EACH(i, count) e[i] = course::as_floats(course::as_integers(p[i]) + (course::as_integers(whole[i]) << 23));
}

constexpr float lowest_exponent = -125.0f;

}  // namespace

void powers_of_two(std::span<const float> x, std::span<float> y) {
  if (x.size() != y.size() || x.size() % lanes != 0)
    throw std::invalid_argument("powers_of_two was given " + std::to_string(x.size()) + " and " +
                                std::to_string(y.size()) + " numbers, expected as many, and a multiple of " +
                                std::to_string(lanes));
  const Lanes lowest = course::hidden(lowest_exponent);
  for (std::size_t i = 0; i < x.size(); i += lanes) {
    Lanes e[]{course::load(&x[i])};
    raise_two(e, lowest);
    course::store(e[0], &y[i]);
  }
}

namespace {

/// Numbers in memory, a row after `stride` of them.
struct Rows {
  const float* data;
  Index stride;
};

/// sums[i][v] += sum_t a(i, t) b[t][v], with one number of a in all lanes. a is read along its rows, or,
/// where a column holds a sum's terms, along these.
template <bool along_rows, int count, int vectors>
[[gnu::always_inline]] inline void multiply(Lanes (&sums)[count][vectors], Index terms, Rows a, Rows b) {
  for (Index t = 0; t < terms; ++t) {
    Lanes x[vectors];
    EACH(v, vectors) x[v] = course::load(b.data + t * b.stride + v * lanes);
    EACH(i, count) {
      const Lanes y = course::splat(along_rows ? a.data[i * a.stride + t] : a.data[t * a.stride + i]);
      EACH(v, vectors) sums[i][v] += y * x[v];
    }
  }
}

template <int count, int vectors, class Use>
[[gnu::always_inline]] inline void score_rows(Rows k, Index d, Rows qt, const float* start, float* s,
                                              Index at, Use use) {
  Lanes sums[count][vectors];
  EACH(i, count) EACH(v, vectors) sums[i][v] = course::load(start + v * lanes);
  multiply<true>(sums, d, k, qt);
  EACH(i, count)
  EACH(v, vectors) {
    const Index entry = at + (i * vectors + v) * lanes;
    course::store(use(sums[i][v], v, entry), s + entry);
  }
}

/// Broadcasts by vectors of queries: 8 by 3 of 32 registers, 4 by 3 of 16.
constexpr int tile_rows = lanes == 16 ? 8 : 4;

/// Of each vector of sums stores use(sums, v, entry), made while they are in a register; entry is where in s.
template <int vectors, class Use>
[[gnu::always_inline]] inline void score_rows(Rows k, Index keys, Index d, Rows qt, const float* start,
                                              float* s, Use use) {
  constexpr Index row = vectors * lanes;
  Index j = 0;
  for (; j + tile_rows <= keys; j += tile_rows)
    score_rows<tile_rows, vectors>({k.data + j * k.stride, k.stride}, d, qt, start, s, j * row, use);
  for (; j < keys; ++j)
    score_rows<1, vectors>({k.data + j * k.stride, k.stride}, d, qt, start, s, j * row, use);
}

template <int vectors>
void score_rows(Rows k, Index keys, Index d, Rows qt, const float* start, float* s) {
  score_rows<vectors>(k, keys, d, qt, start, s, [](Lanes sum, int, Index) { return sum; });
}

}  // namespace

void score_tile(MatrixView<const float> k, MatrixView<const float> qt, std::span<const float> start,
                MatrixView<float> s) {
  const Rows keys{k.data(), k.cols()}, queries{qt.data(), qt.cols()};
  const auto score = [&](auto of_vectors) {
    of_vectors(keys, k.rows(), k.cols(), queries, start.data(), s.data());
  };
  if (qt.cols() == lanes) return score(score_rows<1>);
  if (qt.cols() == 2 * lanes) return score(score_rows<2>);
  if (qt.cols() == 3 * lanes) return score(score_rows<3>);
  if (qt.cols() == 4 * lanes) return score(score_rows<4>);
  throw std::invalid_argument("score_tile was given " + std::to_string(qt.cols()) +
                              " queries, expected 1 to 4 times " + std::to_string(lanes));
}

namespace {

constexpr int vectors = lanes == 4 ? 2 : 3;
constexpr Index tile_queries = vectors * lanes;
constexpr double log2_e = 1.4426950408889634, log_2 = 0.6931471805599453;

void require_head_dim(Index d) {
  if (d < 4 || d > 256 || d % 4 != 0)
    throw std::invalid_argument("d is " + std::to_string(d) + ", expected a multiple of 4 from 4 to 256");
}

/// Numbers on a vector's boundary.
class Room {
 public:
  explicit Room(Index numbers) : memory_(static_cast<std::size_t>((numbers + lanes - 1) / lanes)) {}
  float* data() { return reinterpret_cast<float*>(memory_.data()); }

 private:
  std::vector<Lanes> memory_;
};

/// Rows first .. first + tile_queries - 1 of x, times a factor, each in a lane: to [d, tile_queries]. Beyond
/// the last row zeros.
void pack_into_lanes(MatrixView<const float> x, Index first, float factor, float* to) {
  const Index rows = std::min(tile_queries, x.rows() - first), d = x.cols();
  if (rows < tile_queries) std::fill_n(to, d * tile_queries, 0.0f);
  const float* const from = x.data() + first * d;
  for (Index i = 0; i < rows; ++i) {
    for (Index c = 0; c < d; ++c) to[c * tile_queries + i] = from[i * d + c] * factor;
  }
}

/// What a tile of queries remembers, a lane a query; m is of base 2.
struct State {
  float m[tile_queries], l[tile_queries];
  float* ot;  ///< [d, tile_queries]
};

/// m changes its unit, and is rounded: l and O are made to match what it then is, by 2^exponent. That is next
/// to 1 unless m is huge, and then its series ends soon.
float matched(double exponent) {
  if (!std::isfinite(exponent)) return 1.0f;
  const double y = exponent * log_2;
  return static_cast<float>(std::abs(y) < 1e-2 ? 1 + y * (1 + y / 2) : std::exp(y));
}

void read_state(std::span<const float> m, std::span<const float> l, MatrixView<const float> o, Index first,
                State& state) {
  pack_into_lanes(o, first, 1.0f, state.ot);
  for (Index i = 0; i < tile_queries; ++i) {
    const bool is_there = first + i < o.rows();
    const double exact = is_there ? m[first + i] * log2_e : -std::numeric_limits<double>::infinity();
    state.m[i] = static_cast<float>(exact);
    const float match = matched(exact - state.m[i]);
    state.l[i] = is_there ? l[first + i] * match : 0.0f;
    for (Index c = 0; match != 1.0f && c < o.cols(); ++c) state.ot[c * tile_queries + i] *= match;
  }
}

void write_state(const State& state, Index first, std::span<float> m, std::span<float> l,
                 MatrixView<float> o) {
  for (Index i = 0; i < std::min(tile_queries, o.rows() - first); ++i) {
    m[first + i] = static_cast<float>(state.m[i] * log_2);
    const float match = matched(state.m[i] - m[first + i] * log2_e);
    l[first + i] = state.l[i] * match;
    float* const row = o.data() + (first + i) * o.cols();
    for (Index c = 0; c < o.cols(); ++c) row[c] = state.ot[c * tile_queries + i] * match;
  }
}

/// Scores of keys, to s, and their maximum, to m; factor [tile_queries] is what l and O shrink by.
void score_keys(Rows k, Index keys, Index d, const float* qt, float* s, State& state, float* factor) {
  const float zeros[tile_queries] = {};
  Lanes most[vectors], shrunk[vectors];
  EACH(v, vectors) most[v] = course::load(state.m + v * lanes);
  score_rows<vectors>(k, keys, d, {qt, tile_queries}, zeros, s, [&](Lanes score, int v, Index) {
    most[v] = course::maximum(most[v], score);
    return score;
  });
  EACH(v, vectors) shrunk[v] = course::load(state.m + v * lanes) - most[v];
  raise_two(shrunk, course::hidden(lowest_exponent));
  EACH(v, vectors) {
    course::store(most[v], state.m + v * lanes);
    course::store(shrunk[v], factor + v * lanes);
  }
}

/// Scores become weights; l shrinks, and takes up their sum.
void weigh(float* s, Index keys, const float* factor, State& state) {
  Lanes sum[vectors], most[vectors];
  EACH(v, vectors) {
    sum[v] = course::load(state.l + v * lanes) * course::load(factor + v * lanes);
    most[v] = course::load(state.m + v * lanes);
  }
  const Lanes lowest = course::hidden(lowest_exponent);
  for (Index j = 0; j < keys; ++j) {
    float* const row = s + j * tile_queries;
    Lanes e[vectors];
    EACH(v, vectors) e[v] = course::load(row + v * lanes) - most[v];
    raise_two(e, lowest);
    EACH(v, vectors) {
      sum[v] += e[v];
      course::store(e[v], row + v * lanes);
    }
  }
  EACH(v, vectors) course::store(sum[v], state.l + v * lanes);
}

/// Columns c .. c + count - 1 of `to` [d, tile_queries] shrink by the factor, and take up sum_j p_ij x_jc.
template <int count>
[[gnu::always_inline]] inline void add_columns(const float* p, Index keys, Rows x, const float* factor,
                                               float* to) {
  Lanes sums[count][vectors];
  EACH(i, count)
  EACH(v, vectors) {
    sums[i][v] = course::load(to + (i * vectors + v) * lanes);
    if (factor != nullptr) sums[i][v] *= course::load(factor + v * lanes);
  }
  multiply<false>(sums, keys, x, {p, tile_queries});
  EACH(i, count) EACH(v, vectors) course::store(sums[i][v], to + (i * vectors + v) * lanes);
}

void add_all_columns(const float* p, Index keys, MatrixView<const float> x, Index first_key,
                     const float* factor, float* to) {
  const Rows rows{x.data() + first_key * x.cols(), x.cols()};
  Index c = 0;
  for (; c + tile_rows <= x.cols(); c += tile_rows)
    add_columns<tile_rows>(p, keys, {rows.data + c, rows.stride}, factor, to + c * tile_queries);
  for (; c < x.cols(); c += 4)  // d is a multiple of 4
    add_columns<4>(p, keys, {rows.data + c, rows.stride}, factor, to + c * tile_queries);
}

}  // namespace

void attend_block(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                  std::span<float> m, std::span<float> l, MatrixView<float> o) {
  constexpr Index block_keys = 128;
  const Index d = q.cols();
  require_head_dim(d);
  if (k.rows() == 0) return;
  const float scale = static_cast<float>(log2_e / std::sqrt(static_cast<double>(d)));
  Room qt(d * tile_queries), ot(d * tile_queries), s(block_keys * tile_queries);
  State state;
  state.ot = ot.data();
  for (Index first = 0; first < q.rows(); first += tile_queries) {
    pack_into_lanes(q, first, scale, qt.data());
    read_state(m, l, o, first, state);
    for (Index j = 0; j < k.rows(); j += block_keys) {
      const Index keys = std::min(block_keys, k.rows() - j);
      float factor[tile_queries];
      score_keys({k.data() + j * d, d}, keys, d, qt.data(), s.data(), state, factor);
      weigh(s.data(), keys, factor, state);
      add_all_columns(s.data(), keys, v, j, factor, state.ot);
    }
    write_state(state, first, m, l, o);
  }
}

namespace {

/// Rows first .. first + tile_queries - 1 of x, times a factor, as they lie: to [tile_queries, stride].
/// Beyond the last row, and the last column, zeros.
void pack_rows(MatrixView<const float> x, Index first, float factor, Index stride, float* to) {
  for (Index i = 0; i < tile_queries; ++i) {
    const Index d = first + i < x.rows() ? x.cols() : 0;
    const float* const row = x.data() + (first + i) * x.cols();
    for (Index c = 0; c < d; ++c) to[i * stride + c] = row[c] * factor;
    std::fill_n(to + i * stride + d, stride - d, 0.0f);
  }
}

/// A tile of queries, a lane a query, and once more as rows.
struct Queries {
  Queries(Index d, Index block_keys)
      : stride((d + lanes - 1) / lanes * lanes),
        qt(d * tile_queries),
        d_ot(d * tile_queries),
        dqt(d * tile_queries),
        q(stride * tile_queries),
        d_o(stride * tile_queries),
        p(block_keys * tile_queries),
        ds(block_keys * tile_queries) {}

  Index stride;  ///< of the rows
  Room qt, d_ot, dqt;
  Room q, d_o;
  Room p, ds;  ///< [keys, tile_queries]
  float minus_lse[tile_queries], minus_delta[tile_queries];
  float visible[tile_queries];
};

template <bool all_see_all>
void weigh_visible(float* p, Index first_key, Index keys, const Queries& tile) {
  const Lanes lowest = course::hidden(lowest_exponent);
  for (Index j = 0; j < keys; ++j) {
    float* const row = p + j * tile_queries;
    Lanes e[vectors];
    EACH(v, vectors) e[v] = course::load(row + v * lanes);
    raise_two(e, lowest);
    const Lanes key = course::splat(static_cast<float>(first_key + j));
    EACH(v, vectors) {
      if (!all_see_all) e[v] = course::load(tile.visible + v * lanes) > key ? e[v] : Lanes{};
      course::store(e[v], row + v * lanes);
    }
  }
}

/// The gradients of scores: dP, which begins at -D, times p.
void weigh_gradients(Rows v, Index keys, Index d, const Queries& tile, const float* d_ot, const float* p,
                     float* ds) {
  score_rows<vectors>(v, keys, d, {d_ot, tile_queries}, tile.minus_delta, ds,
                      [&](Lanes sum, int, Index entry) { return sum * course::load(p + entry); });
}

/// As many columns of `to` as are left, at most a vector.
template <bool whole>
[[gnu::always_inline]] inline Lanes load_columns(const float* from, Index left) {
  if (whole || left >= lanes) return course::load(from);
  Lanes x{};
  std::memcpy(&x, from, sizeof(float) * static_cast<std::size_t>(left));
  return x;
}

template <bool whole>
[[gnu::always_inline]] inline void store_columns(Lanes x, float* to, Index left) {
  if (whole || left >= lanes) return course::store(x, to);
  std::memcpy(to, &x, sizeof(float) * static_cast<std::size_t>(left));
}

/// Keys' rows of dk or dv take up sum_i a(key, i) b_i: they sum over the queries, which must not be the
/// lanes.
template <int count, int of_columns, bool whole>
[[gnu::always_inline]] inline void add_key_rows(const float* a, Rows b, float* to, Index d, Index first) {
  Lanes sums[count][of_columns];
  EACH(i, count)
  EACH(v, of_columns)
  sums[i][v] = load_columns<whole>(to + i * d + first + v * lanes, d - first - v * lanes);
  multiply<true>(sums, tile_queries, {a, tile_queries}, {b.data + first, b.stride});
  EACH(i, count)
  EACH(v, of_columns)
  store_columns<whole>(sums[i][v], to + i * d + first + v * lanes, d - first - v * lanes);
}

template <int of_columns, bool whole>
void add_keys(const float* a, Index keys, Rows b, float* to, Index d, Index first) {
  constexpr int count = lanes == 16 ? 24 / of_columns : 12 / of_columns;
  Index j = 0;
  for (; j + count <= keys; j += count)
    add_key_rows<count, of_columns, whole>(a + j * tile_queries, b, to + j * d, d, first);
  for (; j < keys; ++j) add_key_rows<1, of_columns, whole>(a + j * tile_queries, b, to + j * d, d, first);
}

template <int of_columns>
void add_keys(const float* a, Index keys, Rows b, float* to, Index d, Index first) {
  if (d - first >= of_columns * lanes) return add_keys<of_columns, true>(a, keys, b, to, d, first);
  add_keys<of_columns, false>(a, keys, b, to, d, first);
}

void add_all_keys(const float* a, Index keys, Rows b, float* to, Index d) {
  constexpr Index most = lanes == 16 ? 4 : 2;
  for (Index first = 0; first < d; first += most * lanes) {
    const Index columns = std::min(most, (d - first + lanes - 1) / lanes);
    if (columns == 1) add_keys<1>(a, keys, b, to, d, first);
    if (columns == 2) add_keys<2>(a, keys, b, to, d, first);
    if (columns == 3) add_keys<3>(a, keys, b, to, d, first);
    if (columns == 4) add_keys<4>(a, keys, b, to, d, first);
  }
}

}  // namespace

void block_backward(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                    MatrixView<const float> d_o, std::span<const float> lse, std::span<const float> delta,
                    std::span<const Index> visible, MatrixView<float> dq, MatrixView<float> dk,
                    MatrixView<float> dv) {
  const Index d = q.cols(), block_keys = d > 64 ? 96 : 64;
  require_head_dim(d);
  const double root = 1 / std::sqrt(static_cast<double>(d));
  Queries tile(d, block_keys);
  for (Index first = 0; first < q.rows(); first += tile_queries) {
    pack_into_lanes(q, first, static_cast<float>(root * log2_e), tile.qt.data());
    pack_into_lanes(d_o, first, 1.0f, tile.d_ot.data());
    pack_rows(q, first, static_cast<float>(root), tile.stride, tile.q.data());
    pack_rows(d_o, first, 1.0f, tile.stride, tile.d_o.data());
    std::fill_n(tile.dqt.data(), d * tile_queries, 0.0f);
    for (Index i = 0; i < tile_queries; ++i) {
      const bool takes_part = first + i < q.rows() && std::isfinite(lse[first + i]);
      tile.minus_lse[i] = takes_part ? static_cast<float>(-lse[first + i] * log2_e) : 0.0f;
      tile.minus_delta[i] = takes_part ? -delta[first + i] : 0.0f;
      const Index seen = first + i < q.rows() ? (takes_part ? visible[first + i] : 0) : k.rows();
      tile.visible[i] = static_cast<float>(seen);
    }
    const auto [fewest, most] = std::ranges::minmax(tile.visible);
    for (Index j = 0; j < std::min(static_cast<Index>(most), k.rows()); j += block_keys) {
      const Index keys = std::min(block_keys, k.rows() - j);
      float *const p = tile.p.data(), *const ds = tile.ds.data();
      score_rows<vectors>({k.data() + j * d, d}, keys, d, {tile.qt.data(), tile_queries}, tile.minus_lse, p);
      const bool all_see_all = fewest >= static_cast<float>(j + keys);
      (all_see_all ? weigh_visible<true> : weigh_visible<false>)(p, j, keys, tile);
      weigh_gradients({v.data() + j * d, d}, keys, d, tile, tile.d_ot.data(), p, ds);
      add_all_keys(p, keys, {tile.d_o.data(), tile.stride}, dv.data() + j * d, d);
      add_all_keys(ds, keys, {tile.q.data(), tile.stride}, dk.data() + j * d, d);
      add_all_columns(ds, keys, k, j, nullptr, tile.dqt.data());
    }
    for (Index i = 0; i < std::min(tile_queries, q.rows() - first); ++i) {
      float* const row = dq.data() + (first + i) * d;
      for (Index c = 0; c < d; ++c)
        row[c] += tile.dqt.data()[c * tile_queries + i] * static_cast<float>(root);
    }
  }
}

}  // namespace lesson20
