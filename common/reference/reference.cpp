#include "reference/reference.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace course::reference {

namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// a b^T. The only form of product, which takes long to compile: where it is another, a transpose is copied.
template <class T>
Matrix<T> times_transposed(const Matrix<T>& a, const Matrix<T>& b) {
  return a * b.transpose();
}

/// One head of a tensor [heads, rows, cols].
template <class T>
Matrix<T> head_of(const TensorOf<T>& tensor, Index head) {
  const MatrixView<const T> view = tensor.heads().head(head);
  return Eigen::Map<const Matrix<T>>(view.data(), view.rows(), view.cols());
}

/// The head of k and v that a head of q looks at.
template <class T>
Index kv_head(const TensorOf<T>& q, const TensorOf<T>& k, Index head) {
  return head / (q.extent(0) / k.extent(0));
}

template <class T>
void add_to_head(TensorOf<T>& tensor, Index head, const Matrix<T>& matrix) {
  std::transform(matrix.data(), matrix.data() + matrix.size(), tensor.heads().head(head).data(),
                 tensor.heads().head(head).data(), std::plus<T>());
}

template <class T>
void set_head(TensorOf<T>& tensor, Index head, const Matrix<T>& matrix) {
  std::copy_n(matrix.data(), matrix.size(), tensor.heads().head(head).data());
}

/// A tensor that is left out is a default-constructed one.
template <class T>
bool is_given(const TensorOf<T>& tensor) {
  return tensor.shape() != Shape{0};
}

template <class T>
T score_scale(Index head_dim) {
  return T{1} / std::sqrt(static_cast<T>(head_dim));
}

/// One head's forward pass.
template <class T>
struct Head {
  Head(const TensorOf<T>& q_all, const TensorOf<T>& k_all, const TensorOf<T>& v_all, const Mask& mask,
       const TensorOf<T>& bias, Index head)
      : q(head_of(q_all, head)),
        k(head_of(k_all, kv_head(q_all, k_all, head))),
        v(head_of(v_all, kv_head(q_all, k_all, head))),
        p(score_scale<T>(q.cols()) * times_transposed(q, k)),
        lse(q.rows()) {
    if (is_given(bias)) p += head_of(bias, head);
    for (Index i = 0; i < p.rows(); ++i) {
      const auto [first, last] = mask.keys(i);
      for (Index j = 0; j < p.cols(); ++j) {
        if (j < first || j >= last) p(i, j) = -std::numeric_limits<T>::infinity();
      }
      lse[i] = softmax_in_place(std::span<T>(p.row(i).data(), static_cast<std::size_t>(p.cols())));
    }
    o = times_transposed<T>(p, v.transpose());
  }

  Matrix<T> q, k, v;
  Matrix<T> p;  ///< softmax of the scores that the mask shows, [queries, keys]
  std::vector<T> lse;
  Matrix<T> o;
};

template <class T>
void require_shapes(const TensorOf<T>& q, const TensorOf<T>& k, const TensorOf<T>& v) {
  const bool fit = q.rank() == 3 && k.rank() == 3 && v.rank() == 3 &&  //
                   k.extent(0) == v.extent(0) &&
                   (k.extent(0) > 0 ? q.extent(0) % k.extent(0) : q.extent(0)) == 0 &&  // heads
                   k.extent(1) == v.extent(1) &&                                        // keys
                   q.extent(2) == k.extent(2) && q.extent(2) > 0 && v.extent(2) > 0;    // head_dim
  if (!fit) {
    throw std::invalid_argument("attention of q " + to_string(q.shape()) + ", k " + to_string(k.shape()) +
                                " and v " + to_string(v.shape()) +
                                ": expected [heads, queries, head_dim], [kv_heads, keys, head_dim] and "
                                "[kv_heads, keys, value_dim] with kv_heads that divide heads, and "
                                "head_dim and value_dim at least 1");
  }
}

void require_shape(const std::string& name, const Shape& shape, const std::string& whose,
                   const Shape& expected) {
  if (shape == expected) return;
  throw std::invalid_argument(name + " has shape " + to_string(shape) + ", expected " + whose + " " +
                              to_string(expected));
}

template <class T>
void require_bias(const TensorOf<T>& bias, const TensorOf<T>& q, const TensorOf<T>& k) {
  if (is_given(bias))
    require_shape("bias", bias.shape(), "the scores'", {q.extent(0), q.extent(1), k.extent(1)});
}

}  // namespace

template <class T>
Attention<T> attention(const TensorOf<T>& q, const TensorOf<T>& k, const TensorOf<T>& v, const Mask& mask,
                       const TensorOf<T>& bias) {
  require_shapes(q, k, v);
  require_bias(bias, q, k);
  Attention<T> result{TensorOf<T>({q.extent(0), q.extent(1), v.extent(2)}),
                      TensorOf<T>({q.extent(0), q.extent(1)})};
  for (Index head = 0; head < q.extent(0); ++head) {
    const Head<T> x(q, k, v, mask, bias, head);
    set_head(result.o, head, x.o);
    std::ranges::copy(x.lse, result.lse.matrix().row(head).begin());
  }
  return result;
}

template <class T>
AttentionGradients<T> attention_gradients(const TensorOf<T>& q, const TensorOf<T>& k, const TensorOf<T>& v,
                                          const TensorOf<T>& d_o, const Mask& mask, const TensorOf<T>& d_lse,
                                          const TensorOf<T>& bias) {
  require_shapes(q, k, v);
  require_bias(bias, q, k);
  require_shape("d_o", d_o.shape(), "the output's", {q.extent(0), q.extent(1), v.extent(2)});
  if (is_given(d_lse)) require_shape("d_lse", d_lse.shape(), "lse's", {q.extent(0), q.extent(1)});
  AttentionGradients<T> result{TensorOf<T>(q.shape()), TensorOf<T>(k.shape()), TensorOf<T>(v.shape())};
  const T scale = score_scale<T>(q.extent(2));
  for (Index head = 0; head < q.extent(0); ++head) {
    const Head<T> x(q, k, v, mask, bias, head);
    const Matrix<T> d_o_h = head_of(d_o, head);
    Matrix<T> d_lse_h = Matrix<T>::Zero(x.q.rows(), 1);
    if (is_given(d_lse)) std::ranges::copy(d_lse.matrix().row(head), d_lse_h.data());
    const Matrix<T> d = x.o.cwiseProduct(d_o_h).rowwise().sum();  // D, one number a query
    const Matrix<T> d_p = times_transposed(d_o_h, x.v);
    const Matrix<T> d_s = x.p.cwiseProduct(d_p.colwise() + (d_lse_h - d).col(0));
    const Index kv = kv_head(q, k, head);
    add_to_head(result.dv, kv, times_transposed<T>(x.p.transpose(), d_o_h.transpose()));
    set_head<T>(result.dq, head, scale * times_transposed<T>(d_s, x.k.transpose()));
    add_to_head<T>(result.dk, kv, scale * times_transposed<T>(d_s.transpose(), x.q.transpose()));
  }
  return result;
}

template Attention<float> attention(const Tensor&, const Tensor&, const Tensor&, const Mask&, const Tensor&);
template Attention<double> attention(const Tensor64&, const Tensor64&, const Tensor64&, const Mask&,
                                     const Tensor64&);
template AttentionGradients<float> attention_gradients(const Tensor&, const Tensor&, const Tensor&,
                                                       const Tensor&, const Mask&, const Tensor&,
                                                       const Tensor&);
template AttentionGradients<double> attention_gradients(const Tensor64&, const Tensor64&, const Tensor64&,
                                                        const Tensor64&, const Mask&, const Tensor64&,
                                                        const Tensor64&);

}  // namespace course::reference
