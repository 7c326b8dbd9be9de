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

//> task 1
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

//< task 1
void powers_of_two(std::span<const float> x, std::span<float> y) {
  //> task 1
  //| // x = n + f. What puts n into a float's exponent? What is 2^f, for f from -1/2 to 1/2?
  //| throw course::NotImplemented("task 1, powers_of_two");
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
  //< task 1
}

//> task 2
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

//< task 2
void score_tile(MatrixView<const float> k, MatrixView<const float> qt, std::span<const float> start,
                MatrixView<float> s) {
  //> task 2
  //| // How many sums fit in the registers, beside what each step reads? Which of the two operands is in all
  //| // lanes at once?
  //| throw course::NotImplemented("task 2, score_tile");
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
  //< task 2
}

//> task 3
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

/// Which keys a tile's queries see, a lane a query: from `first` on, and before `last`. All of them see those
/// from all_first on and before all_last, and none sees one before any_first or from any_last on.
struct Ranges {
  float first[tile_queries], last[tile_queries];
  Index any_first, all_first, all_last, any_last;

  /// Of queries from first_query on; lanes without a query see every key, and take no part.
  template <class RangeOf>
  Ranges(Index first_query, Index queries, Index keys, RangeOf range_of)
      : any_first(keys), all_first(0), all_last(keys), any_last(0) {
    for (Index i = 0; i < tile_queries; ++i) {
      const bool is_there = first_query + i < queries;
      const auto [from, to] = is_there ? range_of(first_query + i) : std::pair{Index{0}, keys};
      first[i] = static_cast<float>(from);
      last[i] = static_cast<float>(to);
      if (!is_there) continue;
      all_first = std::max(all_first, from);
      all_last = std::min(all_last, to);
      if (from >= to) continue;
      any_first = std::min(any_first, from);
      any_last = std::max(any_last, to);
    }
  }

  /// x where the query sees the key, else y.
  Lanes choose(Index key, int v, Lanes x, Lanes y) const {
    const Lanes j = course::splat(static_cast<float>(key));
    const auto sees = (course::load(first + v * lanes) <= j) & (course::load(last + v * lanes) > j);
    return sees ? x : y;
  }

  /// Calls use(key, keys, all_see_all) for blocks of `most` keys at most, which hold every key that is seen.
  template <class Use>
  void by_block(Index most, Use use) const {
    const Index all_end = std::max(std::min(all_first, any_last), std::min(all_last, any_last));
    const Index ends[] = {std::min(all_first, any_last), all_end, any_last};
    Index j = any_first;
    for (int part = 0; part < 3; ++part) {
      for (; j < ends[part]; j += std::min(most, ends[part] - j))
        use(j, std::min(most, ends[part] - j), part == 1);
    }
  }
};

/// m, or the least number where a query has seen nothing: -inf - (-inf) would be NaN.
Lanes finite(Lanes m) {
  return course::maximum(m, course::hidden(std::numeric_limits<float>::lowest()));
}

/// Scores of keys from first_key on, to s, and their maximum, to m; factor [tile_queries] is what l and O
/// shrink by. A key that is not seen has the score -inf.
template <bool all_see_all>
void score_keys(Rows k, Index first_key, Index keys, Index d, const float* qt, const Ranges& seen, float* s,
                State& state, float* factor) {
  const float zeros[tile_queries] = {};
  const Lanes minus_infinity = course::hidden(-std::numeric_limits<float>::infinity());
  Lanes most[vectors], shrunk[vectors];
  EACH(v, vectors) most[v] = course::load(state.m + v * lanes);
  score_rows<vectors>(k, keys, d, {qt, tile_queries}, zeros, s, [&](Lanes score, int v, Index entry) {
    if (!all_see_all) score = seen.choose(first_key + entry / tile_queries, v, score, minus_infinity);
    most[v] = course::maximum(most[v], score);
    return score;
  });
  EACH(v, vectors) shrunk[v] = course::load(state.m + v * lanes) - finite(most[v]);
  raise_two(shrunk, course::hidden(lowest_exponent));
  EACH(v, vectors) {
    course::store(most[v], state.m + v * lanes);
    course::store(shrunk[v], factor + v * lanes);
  }
}

/// Scores become weights; l shrinks, and takes up their sum.
template <bool all_see_all>
void weigh(float* s, Index first_key, Index keys, const float* factor, const Ranges& seen, State& state) {
  Lanes sum[vectors], most[vectors];
  EACH(v, vectors) {
    sum[v] = course::load(state.l + v * lanes) * course::load(factor + v * lanes);
    most[v] = finite(course::load(state.m + v * lanes));
  }
  const Lanes lowest = course::hidden(lowest_exponent);
  for (Index j = 0; j < keys; ++j) {
    float* const row = s + j * tile_queries;
    Lanes e[vectors];
    EACH(v, vectors) e[v] = course::load(row + v * lanes) - most[v];
    raise_two(e, lowest);
    if (!all_see_all) EACH(v, vectors) e[v] = seen.choose(first_key + j, v, e[v], Lanes{});
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

/// attend_block, where query i sees the keys of range_of(i).
template <class RangeOf>
void attend(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v, RangeOf range_of,
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
    const Ranges seen(first, q.rows(), k.rows(), range_of);
    pack_into_lanes(q, first, scale, qt.data());
    read_state(m, l, o, first, state);
    seen.by_block(block_keys, [&](Index j, Index keys, bool all_see_all) {
      const Rows block{k.data() + j * d, d};
      float factor[tile_queries];
      (all_see_all ? score_keys<true> : score_keys<false>)(block, j, keys, d, qt.data(), seen, s.data(),
                                                           state, factor);
      (all_see_all ? weigh<true> : weigh<false>)(s.data(), j, keys, factor, seen, state);
      add_all_columns(s.data(), keys, v, j, factor, state.ot);
    });
    write_state(state, first, m, l, o);
  }
}

}  // namespace

//< task 3
void attend_block(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                  std::span<float> m, std::span<float> l, MatrixView<float> o) {
  //> task 3
  //| // A query a lane. Which base do the scores have, and when does m change its unit? Where does O begin?
  //| throw course::NotImplemented("task 3, attend_block");
  attend(
      q, k, v,
      [&](Index) {
        return std::pair{Index{0}, k.rows()};
      },
      m, l, o);
  //< task 3
}

//> task 4
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
};

template <bool all_see_all>
void weigh_seen(float* p, Index first_key, Index keys, const Ranges& seen) {
  const Lanes lowest = course::hidden(lowest_exponent);
  for (Index j = 0; j < keys; ++j) {
    float* const row = p + j * tile_queries;
    Lanes e[vectors];
    EACH(v, vectors) e[v] = course::load(row + v * lanes);
    raise_two(e, lowest);
    EACH(v, vectors) {
      if (!all_see_all) e[v] = seen.choose(first_key + j, v, e[v], Lanes{});
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

/// block_backward, where query i sees the keys of range_of(i).
template <class RangeOf>
void go_back(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
             MatrixView<const float> d_o, std::span<const float> lse, std::span<const float> delta,
             RangeOf range_of, MatrixView<float> dq, MatrixView<float> dk, MatrixView<float> dv) {
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
    }
    const Ranges seen(first, q.rows(), k.rows(), [&](Index i) {
      return std::isfinite(lse[i]) ? range_of(i) : std::pair{Index{0}, Index{0}};
    });
    seen.by_block(block_keys, [&](Index j, Index keys, bool all_see_all) {
      float *const p = tile.p.data(), *const ds = tile.ds.data();
      score_rows<vectors>({k.data() + j * d, d}, keys, d, {tile.qt.data(), tile_queries}, tile.minus_lse, p);
      (all_see_all ? weigh_seen<true> : weigh_seen<false>)(p, j, keys, seen);
      weigh_gradients({v.data() + j * d, d}, keys, d, tile, tile.d_ot.data(), p, ds);
      add_all_keys(p, keys, {tile.d_o.data(), tile.stride}, dv.data() + j * d, d);
      add_all_keys(ds, keys, {tile.q.data(), tile.stride}, dk.data() + j * d, d);
      add_all_columns(ds, keys, k, j, nullptr, tile.dqt.data());
    });
    for (Index i = 0; i < std::min(tile_queries, q.rows() - first); ++i) {
      float* const row = dq.data() + (first + i) * d;
      for (Index c = 0; c < d; ++c)
        row[c] += tile.dqt.data()[c * tile_queries + i] * static_cast<float>(root);
    }
  }
}

}  // namespace

//< task 4
void block_backward(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                    MatrixView<const float> d_o, std::span<const float> lse, std::span<const float> delta,
                    std::span<const Index> visible, MatrixView<float> dq, MatrixView<float> dk,
                    MatrixView<float> dv) {
  //> task 4
  //| // At what do the sums of scores and of dP begin? Which operand is in the lanes where a sum runs over the
  //| // queries?
  //| throw course::NotImplemented("task 4, block_backward");
  go_back(
      q, k, v, d_o, lse, delta,
      [&](Index i) {
        return std::pair{Index{0}, visible[i]};
      },
      dq, dk, dv);
  //< task 4
}

//> task 4
// Not asked for: both under a mask, where query i sees the keys from first[i] on and before last[i]. A ring
// of causal, packed or windowed rows takes them.
void attend_masked_block(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                         std::span<const Index> first, std::span<const Index> last, std::span<float> m,
                         std::span<float> l, MatrixView<float> o) {
  attend(
      q, k, v,
      [&](Index i) {
        return std::pair{first[i], last[i]};
      },
      m, l, o);
}

void masked_block_backward(MatrixView<const float> q, MatrixView<const float> k, MatrixView<const float> v,
                           MatrixView<const float> d_o, std::span<const float> lse,
                           std::span<const float> delta, std::span<const Index> first,
                           std::span<const Index> last, MatrixView<float> dq, MatrixView<float> dk,
                           MatrixView<float> dv) {
  go_back(
      q, k, v, d_o, lse, delta,
      [&](Index i) {
        return std::pair{first[i], last[i]};
      },
      dq, dk, dv);
}
//< task 4

}  // namespace lesson20
