// right: all heads' projections as one product, then split by heads; chunks from the last to the first; norms in double; rotations from a table of std::polar (without a complex product); reductions in pieces of 7 numbers; the count is sent as a double
#include "context_parallel_layer.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace lesson19 {

using course::transposed;

namespace {

std::span<float> numbers(MatrixView<float> m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}
std::span<const float> numbers(MatrixView<const float> m) {
  return {m.data(), static_cast<std::size_t>(m.size())};
}

/// A matrix that owns its numbers.
struct Room {
  Room(Index rows, Index cols) : values_(static_cast<std::size_t>(rows * cols)), rows_(rows), cols_(cols) {}
  MatrixView<float> view() { return {values_.data(), rows_, cols_}; }
  MatrixView<float> view(Index first_rows) { return view().rows(0, first_rows); }
  std::vector<float> values_;
  Index rows_, cols_;
};

/// A tensor of heads that owns its numbers.
struct HeadsRoom {
  HeadsRoom(Index heads, Index n, Index d)
      : values_(static_cast<std::size_t>(heads * n * d)), heads_(heads), n_(n), d_(d) {}
  HeadsView<float> view() { return {values_.data(), heads_, n_, d_}; }
  std::vector<float> values_;
  Index heads_, n_, d_;
};

void require_chunk(Index chunk) {
  if (chunk < 1) throw std::invalid_argument("chunk is " + std::to_string(chunk) + ", must be at least 1");
}

void require_even(Index head_dim) {
  if (head_dim % 2 != 0)
    throw std::invalid_argument("head_dim is " + std::to_string(head_dim) + ", must be even");
}

double root_mean_square(std::span<const float> row) {
  double sum = 0;
  for (const float value : row) sum += static_cast<double>(value) * value;
  return std::sqrt(sum / static_cast<double>(row.size()) + 1e-5);
}

/// Adds up what the ranks that share the heads have; does nothing without such ranks.
using Reduce = std::function<void(MatrixView<float>)>;

void nothing_to_reduce(MatrixView<float>) {}

Reduce reduce_over(MPI_Comm comm) {
  return [comm](MatrixView<float> m) {
    for (Index first = 0; first < m.size(); first += 7)
      MPI_Allreduce(MPI_IN_PLACE, m.data() + first, static_cast<int>(std::min<Index>(7, m.size() - first)),
                    MPI_FLOAT, MPI_SUM, comm);
  };
}

/// All heads at once: w is one matrix [heads head_dim, hidden].
void project(MatrixView<const float> a, HeadsView<const float> w, HeadsView<float> out) {
  Room all(a.rows(), w.heads() * w.seq());
  course::gemm(1, a, transposed(MatrixView<const float>(w.data(), w.heads() * w.seq(), w.head_dim())), 0,
               all.view());
  for (Index j = 0; j < out.heads(); ++j)
    for (Index t = 0; t < out.seq(); ++t)
      for (Index i = 0; i < out.head_dim(); ++i) out(j, t, i) = all.view()(t, j * w.seq() + i);
}

/// q, k, turned, and v of all of this rank's heads.
struct Projected {
  Projected(MatrixView<const float> a, std::span<const Index> positions,
            const LayerWeights<const float>& weights)
      : q(weights.wq.heads(), a.rows(), weights.wq.seq()),
        k(weights.wk.heads(), a.rows(), weights.wk.seq()),
        v(weights.wv.heads(), a.rows(), weights.wv.seq()) {
    project(a, weights.wq, q.view());
    project(a, weights.wk, k.view());
    project(a, weights.wv, v.view());
    rotate(q.view(), positions, 1);
    rotate(k.view(), positions, 1);
  }
  HeadsRoom q, k, v;
};

/// y = x + the sum over all heads of o_h wo_h.
void project_back(MatrixView<const float> x, HeadsView<const float> o, HeadsView<const float> wo,
                  const Reduce& reduce, MatrixView<float> y) {
  std::ranges::fill(numbers(y), 0.0f);
  for (Index j = 0; j < wo.heads(); ++j) course::gemm(1, o.head(j), wo.head(j), 1, y);
  reduce(y);
  course::axpy(1, numbers(x), numbers(y));
}

void forward(MatrixView<const float> x, std::span<const Index> positions,
             const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
             MatrixView<float> z, const Kept<float>& kept, const Reduce& reduce) {
  require_even(weights.wq.seq());
  require_chunk(chunk);
  const Index n = x.rows(), hidden = x.cols();
  Room normed(n, hidden);
  rms_norm(x, weights.norm1, normed.view());
  {
    Projected p(normed.view(), positions, weights);
    attention.forward(p.q.view(), p.k.view(), p.v.view(), kept.o, kept.lse);
  }
  project_back(x, kept.o, weights.wo, reduce, z);
  rms_norm(z, weights.norm2, normed.view());
  Room fed(n, hidden);
  feed_forward(normed.view(), weights.w_up, weights.w_down, chunk, fed.view());
  reduce(fed.view());
  course::axpy(1, numbers(fed.view()), numbers(z));
}

void backward(MatrixView<const float> x, std::span<const Index> positions,
              const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
              const Kept<const float>& kept, MatrixView<const float> dz, MatrixView<float> dx,
              const LayerWeights<float>& d_weights, const Reduce& reduce) {
  require_even(weights.wq.seq());
  require_chunk(chunk);
  const Index n = x.rows(), hidden = x.cols(), heads = weights.wq.heads(), d = weights.wq.seq();

  Room dy(n, hidden);
  {
    Room y(n, hidden), b(n, hidden), db(n, hidden);
    project_back(x, kept.o, weights.wo, reduce, y.view());
    rms_norm(y.view(), weights.norm2, b.view());
    feed_forward_backward(b.view(), weights.w_up, weights.w_down, dz, chunk, db.view(), d_weights.w_up,
                          d_weights.w_down);
    reduce(db.view());
    rms_norm_backward(y.view(), weights.norm2, db.view(), dy.view(), d_weights.norm2);
    course::axpy(1, numbers(dz), numbers(dy.view()));
  }

  HeadsRoom d_o(heads, n, d), dq(heads, n, d), dk(heads, n, d), dv(heads, n, d);
  for (Index j = 0; j < heads; ++j) {
    course::gemm(1, dy.view(), transposed(weights.wo.head(j)), 0, d_o.view().head(j));
    course::gemm(1, transposed(kept.o.head(j)), dy.view(), 1, d_weights.wo.head(j));
  }

  Room a(n, hidden), da(n, hidden);
  rms_norm(x, weights.norm1, a.view());
  {
    Projected p(a.view(), positions, weights);
    attention.backward(p.q.view(), p.k.view(), p.v.view(), kept.o, kept.lse, d_o.view(), dq.view(),
                       dk.view(), dv.view());
  }
  rotate(dq.view(), positions, -1);
  rotate(dk.view(), positions, -1);

  for (Index j = 0; j < heads; ++j) {
    course::gemm(1, dq.view().head(j), weights.wq.head(j), 1, da.view());
    course::gemm(1, dk.view().head(j), weights.wk.head(j), 1, da.view());
    course::gemm(1, dv.view().head(j), weights.wv.head(j), 1, da.view());
    course::gemm(1, transposed(dq.view().head(j)), a.view(), 1, d_weights.wq.head(j));
    course::gemm(1, transposed(dk.view().head(j)), a.view(), 1, d_weights.wk.head(j));
    course::gemm(1, transposed(dv.view().head(j)), a.view(), 1, d_weights.wv.head(j));
  }
  reduce(da.view());
  rms_norm_backward(x, weights.norm1, da.view(), dx, d_weights.norm1);
  course::axpy(1, numbers(dy.view()), numbers(dx));
}

}  // namespace

void rms_norm(MatrixView<const float> x, std::span<const float> gain, MatrixView<float> y) {
  for (Index i = 0; i < x.rows(); ++i) {
    const double r = root_mean_square(x.row(i));
    for (Index j = 0; j < x.cols(); ++j)
      y(i, j) = static_cast<float>(x(i, j) / r * gain[static_cast<std::size_t>(j)]);
  }
}

void rms_norm_backward(MatrixView<const float> x, std::span<const float> gain, MatrixView<const float> dy,
                       MatrixView<float> dx, std::span<float> d_gain) {
  std::vector<double> share(d_gain.size());
  for (Index i = 0; i < x.rows(); ++i) {
    const double r = root_mean_square(x.row(i));
    double mean = 0;  // of xhat t
    for (Index j = 0; j < x.cols(); ++j) {
      const auto column = static_cast<std::size_t>(j);
      const double xhat = x(i, j) / r;
      share[column] += xhat * dy(i, j);
      mean += xhat * dy(i, j) * gain[column] / static_cast<double>(x.cols());
    }
    for (Index j = 0; j < x.cols(); ++j) {
      const double t = static_cast<double>(gain[static_cast<std::size_t>(j)]) * dy(i, j);
      dx(i, j) = static_cast<float>((t - x(i, j) / r * mean) / r);
    }
  }
  for (std::size_t j = 0; j < share.size(); ++j) d_gain[j] += static_cast<float>(share[j]);
}

void rotate(HeadsView<float> x, std::span<const Index> positions, int turns) {
  require_even(x.head_dim());
  const Index half = x.head_dim() / 2;
  std::vector<std::complex<double>> table;
  for (const Index position : positions)
    for (Index i = 0; i < half; ++i)
      table.push_back(std::polar(1.0, static_cast<double>(position) /
                                          std::exp(std::log(10000.0) * static_cast<double>(i) /
                                                   static_cast<double>(half))));
  for (Index head = 0; head < x.heads(); ++head) {
    for (Index t = 0; t < x.seq(); ++t) {
      for (Index i = 0; i < half; ++i) {
        const auto turn = table[static_cast<std::size_t>(t * half + i)];
        const double c = turn.real(), s = turns == 1 ? turn.imag() : -turn.imag();
        const double first = x(head, t, i), second = x(head, t, i + half);
        x(head, t, i) = static_cast<float>(first * c - second * s);
        x(head, t, i + half) = static_cast<float>(first * s + second * c);
      }
    }
  }
}

void feed_forward(MatrixView<const float> b, MatrixView<const float> w_up, MatrixView<const float> w_down,
                  Index chunk, MatrixView<float> z) {
  require_chunk(chunk);
  Room room(std::min(chunk, b.rows()), w_up.rows());
  for (Index end = b.rows(); end > 0; end -= std::min(chunk, end)) {
    const Index count = std::min(chunk, end), first = end - count;
    const auto u = room.view(count);
    course::gemm(1, b.rows(first, count), transposed(w_up), 0, u);
    for (float& value : numbers(u)) value = course::silu(value);
    course::gemm(1, u, w_down, 1, z.rows(first, count));
  }
}

void feed_forward_backward(MatrixView<const float> b, MatrixView<const float> w_up,
                           MatrixView<const float> w_down, MatrixView<const float> dz, Index chunk,
                           MatrixView<float> db, MatrixView<float> d_w_up, MatrixView<float> d_w_down) {
  require_chunk(chunk);
  Room room(std::min(chunk, b.rows()), w_up.rows()), gradient_room(room.rows_, w_up.rows());
  for (Index end = b.rows(); end > 0; end -= std::min(chunk, end)) {
    const Index count = std::min(chunk, end), first = end - count;
    const auto u = room.view(count), du = gradient_room.view(count);
    course::gemm(1, b.rows(first, count), transposed(w_up), 0, u);
    course::gemm(1, dz.rows(first, count), transposed(w_down), 0, du);
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < u.cols(); ++j) {
        du(i, j) *= course::silu_derivative(u(i, j));
        u(i, j) = course::silu(u(i, j));
      }
    }
    course::gemm(1, du, w_up, 0, db.rows(first, count));
    course::gemm(1, transposed(du), b.rows(first, count), 1, d_w_up);
    course::gemm(1, transposed(u), dz.rows(first, count), 1, d_w_down);
  }
}

void layer_forward(MatrixView<const float> x, std::span<const Index> positions,
                   const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
                   MatrixView<float> z, const Kept<float>& kept) {
  forward(x, positions, weights, chunk, attention, z, kept, nothing_to_reduce);
}

void layer_backward(MatrixView<const float> x, std::span<const Index> positions,
                    const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
                    const Kept<const float>& kept, MatrixView<const float> dz, MatrixView<float> dx,
                    const LayerWeights<float>& d_weights) {
  backward(x, positions, weights, chunk, attention, kept, dz, dx, d_weights, nothing_to_reduce);
}

float next_token_loss(MatrixView<const float> z, std::span<const Index> labels,
                      MatrixView<const float> w_vocabulary, Index chunk, MatrixView<float> dz,
                      MatrixView<float> d_w_vocabulary, MPI_Comm context) {
  require_chunk(chunk);
  const Index vocabulary = w_vocabulary.rows();
  long long count = 0;
  for (std::size_t t = 0; t < labels.size(); ++t) {
    if (labels[t] == -100) continue;
    if (labels[t] < 0 || labels[t] >= vocabulary)
      throw std::invalid_argument("label " + std::to_string(labels[t]) + " in row " + std::to_string(t) +
                                  " is neither -100 nor below " + std::to_string(vocabulary));
    ++count;
  }
  double labels_of_all = static_cast<double>(count);
  MPI_Allreduce(MPI_IN_PLACE, &labels_of_all, 1, MPI_DOUBLE, MPI_SUM, context);
  const double divisor = std::max(labels_of_all, 1.0);
  const float weight = static_cast<float>(1.0 / divisor);

  double loss = 0;
  Room room(std::min(chunk, z.rows()), vocabulary);
  for (Index end = z.rows(); end > 0; end -= std::min(chunk, end)) {
    const Index rows = std::min(chunk, end), first = end - rows;
    const auto s = room.view(rows);
    course::gemm(1, z.rows(first, rows), transposed(w_vocabulary), 0, s);
    for (Index i = 0; i < rows; ++i) {
      const Index label = labels[static_cast<std::size_t>(first + i)];
      const auto row = s.row(i);
      if (label == -100) {
        std::ranges::fill(row, 0.0f);
        continue;
      }
      const float largest = course::maximum(row);
      const float labels_logit = s(i, label) - largest;
      double sum = 0;
      for (float& value : row) {
        value = std::exp(value - largest);
        sum += value;
      }
      loss += std::log(sum) - labels_logit;
      course::scal(static_cast<float>(weight / sum), row);
      s(i, label) -= weight;
    }
    course::gemm(1, s, w_vocabulary, 0, dz.rows(first, rows));
    course::gemm(1, transposed(s), z.rows(first, rows), 1, d_w_vocabulary);
  }
  MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_DOUBLE, MPI_SUM, context);
  return static_cast<float>(loss / divisor);
}

void sum_over_ranks(std::span<float> gradients, MPI_Comm context) {
  MPI_Allreduce(MPI_IN_PLACE, gradients.data(), static_cast<int>(gradients.size()), MPI_FLOAT, MPI_SUM,
                context);
}

float gradient_norm(std::span<const float> gradients) {
  double sum = 0;
  for (const float value : gradients) sum += static_cast<double>(value) * value;
  return static_cast<float>(std::sqrt(sum));
}

void tensor_layer_forward(MatrixView<const float> x, std::span<const Index> positions,
                          const LayerWeights<const float>& weights, Index chunk,
                          const ShardAttention& attention, MatrixView<float> z, const Kept<float>& kept,
                          MPI_Comm tensor) {
  forward(x, positions, weights, chunk, attention, z, kept, reduce_over(tensor));
}

void tensor_layer_backward(MatrixView<const float> x, std::span<const Index> positions,
                           const LayerWeights<const float>& weights, Index chunk,
                           const ShardAttention& attention, const Kept<const float>& kept,
                           MatrixView<const float> dz, MatrixView<float> dx,
                           const LayerWeights<float>& d_weights, MPI_Comm tensor) {
  backward(x, positions, weights, chunk, attention, kept, dz, dx, d_weights, reduce_over(tensor));
}

}  // namespace lesson19
