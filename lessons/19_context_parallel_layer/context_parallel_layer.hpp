#pragma once

#include <mpi.h>

#include <span>

#include "ring/silu.hpp"              // yours to use: course::silu, course::silu_derivative
#include "ring/tensor_grid.hpp"       // ShardAttention; yours to use: course::EvenGrid
#include "tensor/linear_algebra.hpp"  // yours to use: gemm, dot, axpy, scal
#include "tensor/view.hpp"

namespace lesson19 {

using course::HeadsView;
using course::Index;
using course::MatrixView;
using course::ShardAttention;

/// The weights of a layer (T = const float), or their gradients (T = float). Every rank has all of them; in
/// task 6 a part. Columns of wq, wk and wv are inputs: q_h = a wq_h^T; those of wo outputs: y = x + sum_h o_h
/// wo_h. So a head is one piece of memory in all four.
template <class T>
struct LayerWeights {
  std::span<T> norm1, norm2;    ///< [hidden], the gains of the norms
  HeadsView<T> wq, wk, wv, wo;  ///< [heads, head_dim, hidden]
  MatrixView<T> w_up, w_down;   ///< [ffn, hidden]: z = y + silu(b w_up^T) w_down
};

/// What the forward pass leaves to the backward pass, besides x: o [heads, n, head_dim], lse [heads, n].
template <class T>
struct Kept {
  HeadsView<T> o;
  MatrixView<T> lse;
};

// n tokens are on this rank, which may be 0. x, y, z, dx, dy, dz [n, hidden]; positions are those of these
// tokens in the sequence, ascending, from 0 to 2^30. Rows follow each other without gaps. Outputs that are
// "written" hold anything before; gradients of weights are added to what is there. Nothing is kept between
// calls, and what a function allocates it frees.

/// Task 1. y_i = x_i / r_i * gain, r_i = sqrt(mean(x_i^2) + 1e-5). y is written. Source: Zhang and Sennrich
/// 2019 (arXiv 1910.07467).
void rms_norm(MatrixView<const float> x, std::span<const float> gain, MatrixView<float> y);

/// Task 1. Its gradients: dx is written, d_gain [hidden] is added to.
void rms_norm_backward(MatrixView<const float> x, std::span<const float> gain, MatrixView<const float> dy,
                       MatrixView<float> dx, std::span<float> d_gain);

/// Task 1. Turns the pair (x_i, x_{i + d/2}) of row t of every head by turns * positions[t] * 10000^(-2i/d),
/// turns 1 or -1: (a, b) becomes (a cos - b sin, a sin + b cos). The angle is computed in double. Throws
/// std::invalid_argument with head_dim where that is odd. Source: Su et al. 2021 (arXiv 2104.09864).
void rotate(HeadsView<float> x, std::span<const Index> positions, int turns);

/// Task 2. Adds silu(b w_up^T) w_down to z, b [n, hidden], in chunks of `chunk` tokens, of which the last may
/// be shorter. Memory: chunk * ffn numbers, whatever n. Throws std::invalid_argument with the number unless
/// chunk >= 1. Source: Liu and Abbeel 2023 (arXiv 2305.19370).
void feed_forward(MatrixView<const float> b, MatrixView<const float> w_up, MatrixView<const float> w_down,
                  Index chunk, MatrixView<float> z);

/// Task 2. Its gradients, with the activation computed again: db [n, hidden] is written, d_w_up and d_w_down
/// are added to. Memory: 2 chunk * ffn numbers. Throws as feed_forward does.
void feed_forward_backward(MatrixView<const float> b, MatrixView<const float> w_up,
                           MatrixView<const float> w_down, MatrixView<const float> dz, Index chunk,
                           MatrixView<float> db, MatrixView<float> d_w_up, MatrixView<float> d_w_down);

/// Task 3. z = y + feed_forward(norm(y)), y = x + sum_h o_h wo_h, o = attention(rotate(a wq^T), rotate(a
/// wk^T), a wv^T), a = norm(x). z and kept are written. attention.forward is called once on every rank, one
/// without tokens too; nothing else is sent. Throws as rotate and feed_forward do, before anything is sent.
void layer_forward(MatrixView<const float> x, std::span<const Index> positions,
                   const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
                   MatrixView<float> z, const Kept<float>& kept);

/// Task 4. dx is written; what this rank's tokens give to the gradients of weights is added to d_weights. The
/// rest is computed again from x and kept, without a message: attention.backward is called once on every
/// rank, attention.forward is not. Throws as layer_forward does.
void layer_backward(MatrixView<const float> x, std::span<const Index> positions,
                    const LayerWeights<const float>& weights, Index chunk, const ShardAttention& attention,
                    const Kept<const float>& kept, MatrixView<const float> dz, MatrixView<float> dx,
                    const LayerWeights<float>& d_weights);

/// Task 5. Returns the mean of -log p(label) over all labels >= 0 of all ranks of `context`, 0 if there is
/// none, the same on every rank; p = softmax(z w_vocabulary^T), w_vocabulary [vocabulary, hidden]. labels[t]
/// is -100 where token t has none. dz is written, and what this rank's tokens give to the gradient of
/// w_vocabulary is added to d_w_vocabulary. In chunks of `chunk` tokens: memory 2 chunk * vocabulary numbers.
/// Two numbers are reduced: how many labels there are, and the sum of losses. Throws std::invalid_argument
/// with the number unless chunk >= 1, and with label and row where a label is neither -100 nor 0 ..
/// vocabulary - 1, before anything is sent; other ranks, whose labels are right, then wait in vain.
float next_token_loss(MatrixView<const float> z, std::span<const Index> labels,
                      MatrixView<const float> w_vocabulary, Index chunk, MatrixView<float> dz,
                      MatrixView<float> d_w_vocabulary, MPI_Comm context);

/// Task 5. From what each rank's tokens give to gradients (tasks 4 and 5) makes the gradients, on all ranks
/// of `context`.
void sum_over_ranks(std::span<float> gradients, MPI_Comm context);

/// Task 5. The Euclidean norm of gradients that every rank has whole; added up in double.
float gradient_norm(std::span<const float> gradients);

/// Task 6. Tasks 3 and 4 on a grid. The T ranks of `tensor` have the same x, positions and dz, and each has
/// heads / T of the heads of wq, wk, wv and wo and ffn / T of the rows of w_up and w_down; norms are whole on
/// each. kept has this rank's heads; attention joins the ranks that have the same heads and other tokens. z
/// and dx are written, whole, on each. To d_weights is added: of its own matrices what its tokens give, and
/// of norms the same, whole, on each rank of `tensor`. As large as x, two tensors are reduced over `tensor`
/// forward, and three backward, where the sum in y is made again; nothing else is sent. Source: Shoeybi et
/// al. 2019 (Megatron-LM, arXiv 1909.08053).
void tensor_layer_forward(MatrixView<const float> x, std::span<const Index> positions,
                          const LayerWeights<const float>& weights, Index chunk,
                          const ShardAttention& attention, MatrixView<float> z, const Kept<float>& kept,
                          MPI_Comm tensor);
void tensor_layer_backward(MatrixView<const float> x, std::span<const Index> positions,
                           const LayerWeights<const float>& weights, Index chunk,
                           const ShardAttention& attention, const Kept<const float>& kept,
                           MatrixView<const float> dz, MatrixView<float> dx,
                           const LayerWeights<float>& d_weights, MPI_Comm tensor);

}  // namespace lesson19
