#include "context_parallel_layer.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "lesson/not_implemented.hpp"

namespace lesson19 {

using course::transposed;

namespace {

/// 1 / r of a row.
float inverse_size(std::span<const float> row) {
  return 1.0f / std::sqrt(course::dot(row, row) / static_cast<float>(row.size()) + 1e-5f);
}

}  // namespace

void rms_norm(MatrixView<const float> x, std::span<const float> gain, MatrixView<float> y) {
  for (Index row = 0; row < x.rows(); ++row) {
    const float inverse = inverse_size(x.row(row));
    for (Index c = 0; c < x.cols(); ++c) y(row, c) = x(row, c) * inverse * gain[c];
  }
}

void rms_norm_backward(MatrixView<const float> x, std::span<const float> gain, MatrixView<const float> dy,
                       MatrixView<float> dx, std::span<float> d_gain) {
  for (Index row = 0; row < x.rows(); ++row) {
    const float inverse = inverse_size(x.row(row));
    float along = 0.0f;
    for (Index c = 0; c < x.cols(); ++c) along += gain[c] * dy(row, c) * x(row, c);
    const float of_row = along * inverse * inverse / static_cast<float>(x.cols());
    for (Index c = 0; c < x.cols(); ++c) {
      dx(row, c) = inverse * (gain[c] * dy(row, c) - x(row, c) * of_row);
      d_gain[c] += dy(row, c) * x(row, c) * inverse;
    }
  }
}

void rotate(HeadsView<float> x, std::span<const Index> positions, int turns) {
  const Index width = x.head_dim(), half = width / 2;
  if (width % 2 != 0) throw std::invalid_argument("head_dim is odd: " + std::to_string(width));
  for (Index i = 0; i < half; ++i) {
    const double frequency = std::pow(10000.0, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    for (Index row = 0; row < x.seq(); ++row) {
      const double angle = turns * static_cast<double>(positions[row]) * frequency;
      const float cosine = static_cast<float>(std::cos(angle)), sine = static_cast<float>(std::sin(angle));
      for (Index head = 0; head < x.heads(); ++head) {
        const float a = x(head, row, i), b = x(head, row, i + half);
        x(head, row, i) = a * cosine - b * sine;
        x(head, row, i + half) = a * sine + b * cosine;
      }
    }
  }
}

namespace {

/// Throws std::invalid_argument with the number.
void require_chunk(Index chunk) {
  if (chunk < 1) throw std::invalid_argument("chunks of " + std::to_string(chunk) + " tokens");
}

/// A matrix without gaps that owns its numbers, zeros at first.
class Room {
 public:
  Room(Index rows, Index cols) : numbers_(rows * cols, 0.0f), cols_(cols) {}
  MatrixView<float> first_rows(Index rows) { return {numbers_.data(), rows, cols_}; }

 private:
  std::vector<float> numbers_;
  Index cols_;
};

/// Calls with(first, tokens) for chunks of `rows`.
template <class With>
void by_chunks(Index rows, Index chunk, With with) {
  for (Index first = 0; first < rows; first += chunk) with(first, std::min(chunk, rows - first));
}

}  // namespace

void feed_forward(MatrixView<const float> b, MatrixView<const float> w_up, MatrixView<const float> w_down,
                  Index chunk, MatrixView<float> z) {
  require_chunk(chunk);
  Room room(std::min(chunk, b.rows()), w_up.rows());
  by_chunks(b.rows(), chunk, [&](Index first, Index tokens) {
    const MatrixView<float> u = room.first_rows(tokens);
    gemm(1.0f, b.rows(first, tokens), transposed(w_up), 0.0f, u);
    for (Index i = 0; i < u.size(); ++i) u.data()[i] = course::silu(u.data()[i]);
    gemm(1.0f, u, w_down, 1.0f, z.rows(first, tokens));
  });
}

void feed_forward_backward(MatrixView<const float> b, MatrixView<const float> w_up,
                           MatrixView<const float> w_down, MatrixView<const float> dz, Index chunk,
                           MatrixView<float> db, MatrixView<float> d_w_up, MatrixView<float> d_w_down) {
  require_chunk(chunk);
  Room room(std::min(chunk, b.rows()), w_up.rows()), gradients(std::min(chunk, b.rows()), w_up.rows());
  by_chunks(b.rows(), chunk, [&](Index first, Index tokens) {
    const MatrixView<float> u = room.first_rows(tokens), du = gradients.first_rows(tokens);
    const MatrixView<const float> in = b.rows(first, tokens), d_out = dz.rows(first, tokens);
    gemm(1.0f, in, transposed(w_up), 0.0f, u);
    gemm(1.0f, d_out, transposed(w_down), 0.0f, du);
    for (Index i = 0; i < u.size(); ++i) {
      du.data()[i] *= course::silu_derivative(u.data()[i]);
      u.data()[i] = course::silu(u.data()[i]);
    }
    gemm(1.0f, transposed(u), d_out, 1.0f, d_w_down);
    gemm(1.0f, transposed(du), in, 1.0f, d_w_up);
    gemm(1.0f, du, w_up, 0.0f, db.rows(first, tokens));
  });
}

namespace {

/// Makes the sum over all ranks that have some of the heads and of the ffn's rows; alone it does nothing.
using Reduce = void (*)(MatrixView<float> x, MPI_Comm comm);

void nothing_to_reduce(MatrixView<float>, MPI_Comm) {}

/// A tensor without gaps that owns its numbers, zeros at first.
struct Heads {
  Heads(Index heads, Index tokens, Index width)
      : numbers(heads * tokens * width, 0.0f), view(numbers.data(), heads, tokens, width) {}
  Heads(const Heads&) = delete;
  Heads& operator=(const Heads&) = delete;

  std::vector<float> numbers;
  HeadsView<float> view;
};

/// x_h = a w_h^T.
void to_heads(MatrixView<const float> a, HeadsView<const float> w, HeadsView<float> x) {
  for (Index head = 0; head < w.heads(); ++head) gemm(1.0f, a, transposed(w.head(head)), 0.0f, x.head(head));
}

/// sum += sum_h x_h w_h.
void add_heads(HeadsView<const float> x, HeadsView<const float> w, MatrixView<float> sum) {
  for (Index head = 0; head < w.heads(); ++head) gemm(1.0f, x.head(head), w.head(head), 1.0f, sum);
}

void add(MatrixView<const float> x, MatrixView<float> to) {
  course::axpy(1.0f, {x.data(), static_cast<std::size_t>(x.size())},
               {to.data(), static_cast<std::size_t>(to.size())});
}

/// What attention is given, of this rank's tokens and heads.
struct Projected {
  Projected(MatrixView<const float> x, std::span<const Index> positions,
            const LayerWeights<const float>& weights)
      : a_room(x.rows(), x.cols()),
        a(a_room.first_rows(x.rows())),
        q(weights.wq.heads(), x.rows(), weights.wq.seq()),
        k(weights.wq.heads(), x.rows(), weights.wq.seq()),
        v(weights.wq.heads(), x.rows(), weights.wq.seq()) {
    rms_norm(x, weights.norm1, a);
    to_heads(a, weights.wq, q.view);
    to_heads(a, weights.wk, k.view);
    to_heads(a, weights.wv, v.view);
    rotate(q.view, positions, 1);
    rotate(k.view, positions, 1);
  }

  Room a_room;
  MatrixView<float> a;
  Heads q, k, v;
};

/// y = x + sum_h o_h wo_h.
void write_y(MatrixView<const float> x, HeadsView<const float> o, HeadsView<const float> wo,
             MatrixView<float> y, Reduce reduce, MPI_Comm comm) {
  std::fill_n(y.data(), y.size(), 0.0f);
  add_heads(o, wo, y);
  reduce(y, comm);
  add(x, y);
}

void forward(MatrixView<const float> x, std::span<const Index> positions,
             const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
             MatrixView<float> z, const Kept<float>& kept, Reduce reduce, MPI_Comm comm) {
  require_chunk(chunk);
  {
    const Projected in(x, positions, weights);
    attention.forward(in.q.view, in.k.view, in.v.view, kept.o, kept.lse);
  }
  Room y_room(x.rows(), x.cols()), b_room(x.rows(), x.cols());
  const MatrixView<float> y = y_room.first_rows(x.rows()), b = b_room.first_rows(x.rows());
  write_y(x, kept.o, weights.wo, y, reduce, comm);
  rms_norm(y, weights.norm2, b);
  std::fill_n(z.data(), z.size(), 0.0f);
  feed_forward(b, weights.w_up, weights.w_down, chunk, z);
  reduce(z, comm);
  add(y, z);
}

}  // namespace

void layer_forward(MatrixView<const float> x, std::span<const Index> positions,
                   const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
                   MatrixView<float> z, const Kept<float>& kept) {
  forward(x, positions, weights, chunk, attention, z, kept, nothing_to_reduce, MPI_COMM_NULL);
}

namespace {

/// d_w_h += x_h^T y.
void add_outer(HeadsView<const float> x, MatrixView<const float> y, HeadsView<float> d_w) {
  for (Index head = 0; head < d_w.heads(); ++head)
    gemm(1.0f, transposed(x.head(head)), y, 1.0f, d_w.head(head));
}

/// dy from dz, through the feed-forward and the second norm.
void second_half(MatrixView<const float> y, const LayerWeights<const float>& weights, Index chunk,
                 MatrixView<const float> dz, MatrixView<float> dy, const LayerWeights<float>& d_weights,
                 Reduce reduce, MPI_Comm comm) {
  Room b_room(y.rows(), y.cols()), db_room(y.rows(), y.cols());
  const MatrixView<float> b = b_room.first_rows(y.rows()), db = db_room.first_rows(y.rows());
  rms_norm(y, weights.norm2, b);
  feed_forward_backward(b, weights.w_up, weights.w_down, dz, chunk, db, d_weights.w_up, d_weights.w_down);
  reduce(db, comm);
  rms_norm_backward(y, weights.norm2, db, dy, d_weights.norm2);
  add(dz, dy);
}

/// dx from dy, through attention and the first norm.
void first_half(MatrixView<const float> x, std::span<const Index> positions,
                const LayerWeights<const float>& weights, const ShardAttention& attention,
                const Kept<const float>& kept, MatrixView<const float> dy, MatrixView<float> dx,
                const LayerWeights<float>& d_weights, Reduce reduce, MPI_Comm comm) {
  const Projected in(x, positions, weights);
  const Index heads = in.q.view.heads(), n = x.rows(), width = in.q.view.head_dim();
  const Heads d_o(heads, n, width), dq(heads, n, width), dk(heads, n, width), dv(heads, n, width);
  to_heads(dy, weights.wo, d_o.view);
  add_outer(kept.o, dy, d_weights.wo);
  attention.backward(in.q.view, in.k.view, in.v.view, kept.o, kept.lse, d_o.view, dq.view, dk.view, dv.view);
  rotate(dq.view, positions, -1);
  rotate(dk.view, positions, -1);
  add_outer(dq.view, in.a, d_weights.wq);
  add_outer(dk.view, in.a, d_weights.wk);
  add_outer(dv.view, in.a, d_weights.wv);
  Room da_room(n, x.cols());
  const MatrixView<float> da = da_room.first_rows(n);
  add_heads(dq.view, weights.wq, da);
  add_heads(dk.view, weights.wk, da);
  add_heads(dv.view, weights.wv, da);
  reduce(da, comm);
  rms_norm_backward(x, weights.norm1, da, dx, d_weights.norm1);
  add(dy, dx);
}

void backward(MatrixView<const float> x, std::span<const Index> positions,
              const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
              const Kept<const float>& kept, MatrixView<const float> dz, MatrixView<float> dx,
              const LayerWeights<float>& d_weights, Reduce reduce, MPI_Comm comm) {
  require_chunk(chunk);
  Room y_room(x.rows(), x.cols()), dy_room(x.rows(), x.cols());
  const MatrixView<float> y = y_room.first_rows(x.rows()), dy = dy_room.first_rows(x.rows());
  write_y(x, kept.o, weights.wo, y, reduce, comm);
  second_half(y, weights, chunk, dz, dy, d_weights, reduce, comm);
  first_half(x, positions, weights, attention, kept, dy, dx, d_weights, reduce, comm);
}

}  // namespace

void layer_backward(MatrixView<const float> x, std::span<const Index> positions,
                    const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
                    const Kept<const float>& kept, MatrixView<const float> dz, MatrixView<float> dx,
                    const LayerWeights<float>& d_weights) {
  backward(x, positions, weights, chunk, attention, kept, dz, dx, d_weights, nothing_to_reduce,
           MPI_COMM_NULL);
}

namespace {

template <class Number>
Number sum_of(Number own, MPI_Datatype type, MPI_Comm comm) {
  MPI_Allreduce(MPI_IN_PLACE, &own, 1, type, MPI_SUM, comm);
  return own;
}

/// Throws std::invalid_argument with label and row.
void require_labels(std::span<const Index> labels, Index vocabulary) {
  for (std::size_t row = 0; row < labels.size(); ++row) {
    if (labels[row] == -100 || (labels[row] >= 0 && labels[row] < vocabulary)) continue;
    throw std::invalid_argument("row " + std::to_string(row) + " has label " + std::to_string(labels[row]) +
                                ", of a vocabulary of " + std::to_string(vocabulary));
  }
}

/// Makes of a row of logits their gradient of weight * -log p(label); returns -log p(label).
double cross_entropy(std::span<float> row, Index label, float weight) {
  if (label < 0) {
    std::ranges::fill(row, 0.0f);
    return 0.0;
  }
  const float largest = course::maximum(row), of_label = row[label] - largest;
  double sum = 0.0;
  for (float& value : row) sum += value = std::exp(value - largest);
  for (float& value : row) value *= weight / static_cast<float>(sum);
  row[label] -= weight;
  return std::log(sum) - of_label;
}

}  // namespace

float next_token_loss(MatrixView<const float> z, std::span<const Index> labels,
                      MatrixView<const float> w_vocabulary, Index chunk, MatrixView<float> dz,
                      MatrixView<float> d_w_vocabulary, MPI_Comm context) {
  require_chunk(chunk);
  require_labels(labels, w_vocabulary.rows());
  const long long own = std::ranges::count_if(labels, [](Index label) { return label >= 0; });
  const long long all = std::max(1LL, sum_of(own, MPI_LONG_LONG, context));
  const float weight = 1.0f / static_cast<float>(all);
  double loss = 0.0;
  Room room(std::min(chunk, z.rows()), w_vocabulary.rows());
  by_chunks(z.rows(), chunk, [&](Index first, Index tokens) {
    const MatrixView<float> logits = room.first_rows(tokens);
    const MatrixView<const float> in = z.rows(first, tokens);
    gemm(1.0f, in, transposed(w_vocabulary), 0.0f, logits);
    for (Index row = 0; row < tokens; ++row)
      loss += cross_entropy(logits.row(row), labels[first + row], weight);
    gemm(1.0f, logits, w_vocabulary, 0.0f, dz.rows(first, tokens));
    gemm(1.0f, transposed(logits), in, 1.0f, d_w_vocabulary);
  });
  return static_cast<float>(sum_of(loss, MPI_DOUBLE, context) / static_cast<double>(all));
}

void sum_over_ranks(std::span<float> gradients, MPI_Comm context) {
  MPI_Allreduce(MPI_IN_PLACE, gradients.data(), static_cast<int>(gradients.size()), MPI_FLOAT, MPI_SUM,
                context);
}

float gradient_norm(std::span<const float> gradients) {
  double squares = 0.0;
  for (const float value : gradients) squares += static_cast<double>(value) * value;
  return static_cast<float>(std::sqrt(squares));
}

namespace {

void reduce_over(MatrixView<float> x, MPI_Comm tensor) {
  MPI_Allreduce(MPI_IN_PLACE, x.data(), static_cast<int>(x.size()), MPI_FLOAT, MPI_SUM, tensor);
}

}  // namespace

void tensor_layer_forward(MatrixView<const float> x, std::span<const Index> positions,
                          const LayerWeights<const float>& weights, Index chunk,
                          const ShardAttention& attention, MatrixView<float> z, const Kept<float>& kept,
                          MPI_Comm tensor) {
  forward(x, positions, weights, chunk, attention, z, kept, reduce_over, tensor);
}

void tensor_layer_backward(MatrixView<const float> x, std::span<const Index> positions,
                           const LayerWeights<const float>& weights, Index chunk,
                           const ShardAttention& attention, const Kept<const float>& kept,
                           MatrixView<const float> dz, MatrixView<float> dx,
                           const LayerWeights<float>& d_weights, MPI_Comm tensor) {
  backward(x, positions, weights, chunk, attention, kept, dz, dx, d_weights, reduce_over, tensor);
}

}  // namespace lesson19
