// wrong: the second norm has the first one's gain, in the forward pass
// line: rms_norm(z, weights.norm1, normed.view());
// rating: not led
#include "context_parallel_layer.hpp"

#include <algorithm>
#include <cmath>
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

float root_mean_square(std::span<const float> row) {
  return std::sqrt(course::dot(row, row) / static_cast<float>(row.size()) + 1e-5f);
}

/// Adds up what the ranks that share the heads have; does nothing without such ranks.
using Reduce = std::function<void(MatrixView<float>)>;

void nothing_to_reduce(MatrixView<float>) {}

Reduce reduce_over(MPI_Comm comm) {
  return [comm](MatrixView<float> m) {
    MPI_Allreduce(MPI_IN_PLACE, m.data(), static_cast<int>(m.size()), MPI_FLOAT, MPI_SUM, comm);
  };
}

/// q, k, turned, and v of all of this rank's heads.
struct Projected {
  Projected(MatrixView<const float> a, std::span<const Index> positions,
            const LayerWeights<const float>& weights)
      : q(weights.wq.heads(), a.rows(), weights.wq.seq()),
        k(weights.wk.heads(), a.rows(), weights.wk.seq()),
        v(weights.wv.heads(), a.rows(), weights.wv.seq()) {
    for (Index j = 0; j < weights.wq.heads(); ++j) {
      course::gemm(1, a, transposed(weights.wq.head(j)), 0, q.view().head(j));
      course::gemm(1, a, transposed(weights.wk.head(j)), 0, k.view().head(j));
      course::gemm(1, a, transposed(weights.wv.head(j)), 0, v.view().head(j));
    }
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
  rms_norm(z, weights.norm1, normed.view());
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
    const float r = root_mean_square(x.row(i));
    for (Index j = 0; j < x.cols(); ++j) y(i, j) = x(i, j) / r * gain[static_cast<std::size_t>(j)];
  }
}

void rms_norm_backward(MatrixView<const float> x, std::span<const float> gain, MatrixView<const float> dy,
                       MatrixView<float> dx, std::span<float> d_gain) {
  const float hidden = static_cast<float>(x.cols());
  for (Index i = 0; i < x.rows(); ++i) {
    const float r = root_mean_square(x.row(i));
    float along = 0;  // x . t / (h r^2)
    for (Index j = 0; j < x.cols(); ++j) {
      const auto column = static_cast<std::size_t>(j);
      along += x(i, j) / r * (gain[column] * dy(i, j));
      d_gain[column] += dy(i, j) * (x(i, j) / r);
    }
    along /= hidden * r;
    for (Index j = 0; j < x.cols(); ++j) {
      const float t = gain[static_cast<std::size_t>(j)] * dy(i, j);
      dx(i, j) = t / r - x(i, j) / r * along;
    }
  }
}

void rotate(HeadsView<float> x, std::span<const Index> positions, int turns) {
  require_even(x.head_dim());
  const Index half = x.head_dim() / 2;
  for (Index i = 0; i < half; ++i) {
    const double frequency =
        std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(x.head_dim()));
    for (Index t = 0; t < x.seq(); ++t) {
      const double angle = turns * static_cast<double>(positions[static_cast<std::size_t>(t)]) * frequency;
      const float cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
      for (Index head = 0; head < x.heads(); ++head) {
        const float a = x(head, t, i), b = x(head, t, i + half);
        x(head, t, i) = a * cosine - b * sine;
        x(head, t, i + half) = a * sine + b * cosine;
      }
    }
  }
}

void feed_forward(MatrixView<const float> b, MatrixView<const float> w_up, MatrixView<const float> w_down,
                  Index chunk, MatrixView<float> z) {
  require_chunk(chunk);
  Room room(std::min(chunk, b.rows()), w_up.rows());
  for (Index first = 0; first < b.rows(); first += chunk) {
    const Index count = std::min(chunk, b.rows() - first);
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
  for (Index first = 0; first < b.rows(); first += chunk) {
    const Index count = std::min(chunk, b.rows() - first);
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
  MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_LONG_LONG, MPI_SUM, context);
  const double divisor = static_cast<double>(std::max(count, 1LL));
  const float weight = static_cast<float>(1.0 / divisor);

  double loss = 0;
  Room room(std::min(chunk, z.rows()), vocabulary);
  for (Index first = 0; first < z.rows(); first += chunk) {
    const Index rows = std::min(chunk, z.rows() - first);
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
