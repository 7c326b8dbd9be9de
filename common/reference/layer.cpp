#include "reference/layer.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "reference/reference.hpp"

namespace course::reference {

namespace {

/// a b^T.
template <class T>
TensorOf<T> product_transposed(const TensorOf<T>& a, MatrixView<const T> b) {
  TensorOf<T> c({a.extent(0), b.rows()});
  for (Index i = 0; i < a.extent(0); ++i) {
    const std::span<const T> row = a.matrix().row(i);
    for (Index j = 0; j < b.rows(); ++j)
      c.matrix()(i, j) = std::inner_product(row.begin(), row.end(), b.row(j).begin(), T{0});
  }
  return c;
}

/// to += a b.
template <class T>
void add_product(MatrixView<const T> a, MatrixView<const T> b, TensorOf<T>& to) {
  for (Index i = 0; i < a.rows(); ++i)
    for (Index j = 0; j < a.cols(); ++j)
      for (Index c = 0; c < b.cols(); ++c) to.matrix()(i, c) += a(i, j) * b(j, c);
}

template <class T>
TensorOf<T> times(const TensorOf<T>& a, const TensorOf<T>& b) {
  TensorOf<T> c({a.extent(0), b.extent(1)});
  add_product(a.matrix(), b.matrix(), c);
  return c;
}

template <class T>
TensorOf<T> plus(TensorOf<T> a, const TensorOf<T>& b) {
  for (Index i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// 1 / r of a row.
template <class T>
T inverse_size(std::span<const T> row) {
  const T squares = std::inner_product(row.begin(), row.end(), row.begin(), T{0});
  return T{1} / std::sqrt(squares / static_cast<T>(row.size()) + static_cast<T>(1e-5));
}

template <class T>
T sigmoid(T x) {
  return T{1} / (T{1} + std::exp(-x));
}

/// a w_h^T of every head h.
template <class T>
TensorOf<T> by_heads(const TensorOf<T>& a, const TensorOf<T>& w) {
  TensorOf<T> all({w.extent(0), a.extent(0), w.extent(1)});
  for (Index head = 0; head < w.extent(0); ++head)
    std::ranges::copy(product_transposed(a, w.heads().head(head)).values(), all.heads().head(head).data());
  return all;
}

/// to += sum_h x_h w_h.
template <class T>
void add_heads(const TensorOf<T>& x, const TensorOf<T>& w, TensorOf<T>& to) {
  for (Index head = 0; head < w.extent(0); ++head)
    add_product(x.heads().head(head), w.heads().head(head), to);
}

/// One head as a tensor of its own.
template <class T>
TensorOf<T> head_alone(const TensorOf<T>& x, Index head) {
  const MatrixView<const T> view = x.heads().head(head);
  return {{view.rows(), view.cols()}, {view.data(), view.data() + view.size()}};
}

/// [heads, head_dim, hidden]: of every head the sum of x_t^T y_t over rows.
template <class T>
TensorOf<T> outer_sums(const TensorOf<T>& x, const TensorOf<T>& y, std::span<const Index> rows) {
  TensorOf<T> all({x.extent(0), x.extent(2), y.extent(1)});
  for (Index head = 0; head < x.extent(0); ++head)
    std::ranges::copy(outer_sum(head_alone(x, head), y, rows).values(), all.heads().head(head).data());
  return all;
}

/// [columns], the sum over rows.
template <class T>
TensorOf<T> sum_of(const TensorOf<T>& x, std::span<const Index> rows) {
  TensorOf<T> sum({x.extent(1)});
  for (const Index row : rows)
    for (Index c = 0; c < x.extent(1); ++c) sum[c] += x.matrix()(row, c);
  return sum;
}

}  // namespace

template <class T>
TensorOf<T> rms_norm(const TensorOf<T>& x, const TensorOf<T>& gain) {
  TensorOf<T> y(x.shape());
  for (Index i = 0; i < x.extent(0); ++i) {
    const T inverse = inverse_size(x.matrix().row(i));
    for (Index c = 0; c < x.extent(1); ++c) y.matrix()(i, c) = x.matrix()(i, c) * inverse * gain[c];
  }
  return y;
}

template <class T>
NormGradients<T> rms_norm_gradients(const TensorOf<T>& x, const TensorOf<T>& gain, const TensorOf<T>& dy) {
  NormGradients<T> result{TensorOf<T>(x.shape()), TensorOf<T>(x.shape())};
  const Index hidden = x.extent(1);
  for (Index i = 0; i < x.extent(0); ++i) {
    const std::span<const T> row = x.matrix().row(i), d = dy.matrix().row(i);
    const T inverse = inverse_size(row);
    T along = 0;
    for (Index c = 0; c < hidden; ++c) along += row[c] * inverse * gain[c] * d[c];
    for (Index c = 0; c < hidden; ++c) {
      const T normed = row[c] * inverse;
      result.dx.matrix()(i, c) = inverse * (gain[c] * d[c] - normed * along / static_cast<T>(hidden));
      result.d_gain.matrix()(i, c) = d[c] * normed;
    }
  }
  return result;
}

template <class T>
TensorOf<T> rotated(const TensorOf<T>& x, std::span<const Index> positions, int turns) {
  TensorOf<T> y(x.shape());
  const Index half = x.extent(2) / 2;
  for (Index head = 0; head < x.extent(0); ++head) {
    for (Index row = 0; row < x.extent(1); ++row) {
      for (Index i = 0; i < half; ++i) {
        const double frequency = std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
        const double angle = turns * static_cast<double>(positions[row]) * frequency;
        const T cosine = static_cast<T>(std::cos(angle)), sine = static_cast<T>(std::sin(angle));
        const T a = x.heads()(head, row, i), b = x.heads()(head, row, i + half);
        y.heads()(head, row, i) = a * cosine - b * sine;
        y.heads()(head, row, i + half) = a * sine + b * cosine;
      }
    }
  }
  return y;
}

template <class T>
TensorOf<T> feed_forward(const TensorOf<T>& b, const TensorOf<T>& w_up, const TensorOf<T>& w_down) {
  TensorOf<T> u = product_transposed(b, w_up.matrix());
  for (T& value : u.values()) value *= sigmoid(value);
  return times(u, w_down);
}

template <class T>
FeedForwardGradients<T> feed_forward_gradients(const TensorOf<T>& b, const TensorOf<T>& w_up,
                                               const TensorOf<T>& w_down, const TensorOf<T>& dz) {
  const TensorOf<T> u = product_transposed(b, w_up.matrix());
  FeedForwardGradients<T> result{{}, product_transposed(dz, w_down.matrix()), u};
  for (Index i = 0; i < u.size(); ++i) {
    const T s = sigmoid(u[i]);
    result.activated[i] = u[i] * s;
    result.du[i] *= s * (T{1} + u[i] * (T{1} - s));
  }
  result.db = times(result.du, w_up);
  return result;
}

template <class T>
TensorOf<T> outer_sum(const TensorOf<T>& a, const TensorOf<T>& b, std::span<const Index> rows) {
  TensorOf<T> sum({a.extent(1), b.extent(1)});
  for (const Index row : rows)
    for (Index i = 0; i < a.extent(1); ++i)
      for (Index j = 0; j < b.extent(1); ++j) sum.matrix()(i, j) += a.matrix()(row, i) * b.matrix()(row, j);
  return sum;
}

template <class T>
LayerPass<T> layer(const LayerWeights<T>& weights, const TensorOf<T>& x, std::span<const Index> positions) {
  if (!std::ranges::is_sorted(positions)) throw std::invalid_argument("a layer's positions do not ascend");
  LayerPass<T> pass;
  pass.a = rms_norm(x, weights.norm1);
  pass.q = rotated(by_heads(pass.a, weights.wq), positions, 1);
  pass.k = rotated(by_heads(pass.a, weights.wk), positions, 1);
  pass.v = by_heads(pass.a, weights.wv);
  Attention<T> attended = attention(pass.q, pass.k, pass.v, Mask::causal());
  pass.o = std::move(attended.o);
  pass.lse = std::move(attended.lse);
  pass.y = x;
  add_heads(pass.o, weights.wo, pass.y);
  pass.b = rms_norm(pass.y, weights.norm2);
  pass.z = plus(pass.y, feed_forward(pass.b, weights.w_up, weights.w_down));
  return pass;
}

template <class T>
LayerGradients<T>::LayerGradients(const LayerWeights<T>& weights, const TensorOf<T>& x,
                                  std::span<const Index> positions, const TensorOf<T>& dz)
    : pass_(layer(weights, x, positions)),
      dz_(dz),
      feed_forward_(feed_forward_gradients(pass_.b, weights.w_up, weights.w_down, dz)) {
  NormGradients<T> second = rms_norm_gradients(pass_.y, weights.norm2, feed_forward_.db);
  dy_ = plus(dz, second.dx);
  d_norm2_ = std::move(second.d_gain);
  const TensorOf<T> d_o = by_heads(dy_, weights.wo);
  AttentionGradients<T> d = attention_gradients(pass_.q, pass_.k, pass_.v, d_o, Mask::causal());
  dq_ = rotated(d.dq, positions, -1);
  dk_ = rotated(d.dk, positions, -1);
  dv_ = std::move(d.dv);
  TensorOf<T> da(x.shape());
  add_heads(dq_, weights.wq, da);
  add_heads(dk_, weights.wk, da);
  add_heads(dv_, weights.wv, da);
  NormGradients<T> first = rms_norm_gradients(x, weights.norm1, da);
  dx_ = plus(dy_, first.dx);
  d_norm1_ = std::move(first.d_gain);
}

template <class T>
LayerWeights<T> LayerGradients<T>::share(std::span<const Index> rows) const {
  return {sum_of(d_norm1_, rows),
          sum_of(d_norm2_, rows),
          outer_sums(dq_, pass_.a, rows),
          outer_sums(dk_, pass_.a, rows),
          outer_sums(dv_, pass_.a, rows),
          outer_sums(pass_.o, dy_, rows),
          outer_sum(feed_forward_.du, pass_.b, rows),
          outer_sum(feed_forward_.activated, dz_, rows)};
}

template <class T>
LayerWeights<T> LayerGradients<T>::all() const {
  std::vector<Index> rows(dz_.extent(0));
  std::iota(rows.begin(), rows.end(), Index{0});
  return share(rows);
}

template <class T>
Loss<T> next_token_loss(const TensorOf<T>& z, std::span<const Index> labels,
                        const TensorOf<T>& w_vocabulary) {
  const auto counted = std::ranges::count_if(labels, [](Index label) { return label >= 0; });
  const T weight = T{1} / static_cast<T>(std::max<std::ptrdiff_t>(1, counted));
  Loss<T> result{0, {}, product_transposed(z, w_vocabulary.matrix())};
  for (Index i = 0; i < z.extent(0); ++i) {
    const std::span<T> row = result.d_logits.matrix().row(i);
    if (labels[i] < 0) {
      std::ranges::fill(row, T{0});
      continue;
    }
    const T of_label = row[labels[i]];
    result.loss += weight * (softmax_in_place(row) - of_label);
    row[labels[i]] -= T{1};
    for (T& value : row) value *= weight;
  }
  result.dz = times(result.d_logits, w_vocabulary);
  return result;
}

#define COURSE_LAYER(T)                                                                                     \
  template TensorOf<T> rms_norm(const TensorOf<T>&, const TensorOf<T>&);                                    \
  template NormGradients<T> rms_norm_gradients(const TensorOf<T>&, const TensorOf<T>&, const TensorOf<T>&); \
  template TensorOf<T> rotated(const TensorOf<T>&, std::span<const Index>, int);                            \
  template TensorOf<T> feed_forward(const TensorOf<T>&, const TensorOf<T>&, const TensorOf<T>&);            \
  template FeedForwardGradients<T> feed_forward_gradients(const TensorOf<T>&, const TensorOf<T>&,           \
                                                          const TensorOf<T>&, const TensorOf<T>&);          \
  template TensorOf<T> outer_sum(const TensorOf<T>&, const TensorOf<T>&, std::span<const Index>);           \
  template LayerPass<T> layer(const LayerWeights<T>&, const TensorOf<T>&, std::span<const Index>);          \
  template class LayerGradients<T>;                                                                         \
  template Loss<T> next_token_loss(const TensorOf<T>&, std::span<const Index>, const TensorOf<T>&);
COURSE_LAYER(float)
COURSE_LAYER(double)
#undef COURSE_LAYER

}  // namespace course::reference
