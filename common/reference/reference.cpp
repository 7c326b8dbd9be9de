#include "reference/reference.hpp"

#include <Eigen/Core>
#include <cmath>
#include <limits>

namespace course::reference {
namespace {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using ConstMap = Eigen::Map<const Matrix<T>>;
template <class T>
using Map = Eigen::Map<Matrix<T>>;

template <class T>
constexpr T kMinusInfinity = -std::numeric_limits<T>::infinity();

/// One head of a tensor [heads, rows, cols] as an Eigen matrix [rows, cols] on the same numbers.
template <class T>
ConstMap<T> head_of(const TensorOf<T>& tensor, Index head) {
  const MatrixView<const T> view = tensor.heads().head(head);
  return {view.data(), view.rows(), view.cols()};
}

template <class T>
Map<T> head_of(TensorOf<T>& tensor, Index head) {
  const MatrixView<T> view = tensor.heads().head(head);
  return {view.data(), view.rows(), view.cols()};
}

/// Replaces each row of x by its softmax; `lse` gets the rows' logsumexp.
template <class T>
void softmax_of_rows(Matrix<T>& x, T* lse) {
  for (Index i = 0; i < x.rows(); ++i)
    lse[i] = softmax_in_place(std::span<T>(x.row(i).data(), static_cast<std::size_t>(x.cols())));
}

// Each form of product is compiled once for double and once for float.

template <class T>
Matrix<T> times(ConstMap<T> a, ConstMap<T> b, T factor = 1) {
  return factor * (a * b);
}

template <class T>
Matrix<T> times_transposed(ConstMap<T> a, ConstMap<T> b, T factor = 1) {
  return factor * (a * b.transpose());
}

template <class T>
Matrix<T> transposed_times(ConstMap<T> a, ConstMap<T> b, T factor = 1) {
  return factor * (a.transpose() * b);
}

template <class T>
ConstMap<T> numbers_of(const Matrix<T>& matrix) {
  return {matrix.data(), matrix.rows(), matrix.cols()};
}

template <class T>
T score_scale(Index head_dim) {
  return T{1} / std::sqrt(static_cast<T>(head_dim));
}

/// S = q k^T / sqrt(head_dim) of one head, [queries, keys]; -inf where the mask hides the key.
template <class T>
Matrix<T> masked_scores(ConstMap<T> q, ConstMap<T> k, Mask mask) {
  Matrix<T> scores = times_transposed<T>(q, k, score_scale<T>(q.cols()));
  for (Index i = 0; i < scores.rows(); ++i) {
    for (Index j = 0; j < scores.cols(); ++j) {
      if (!mask.visible(i, j)) scores(i, j) = kMinusInfinity<T>;
    }
  }
  return scores;
}

template <class T>
void require_shapes(const TensorOf<T>& q, const TensorOf<T>& k, const TensorOf<T>& v) {
  const bool fit = q.rank() == 3 && k.rank() == 3 && v.rank() == 3 &&                 //
                   q.extent(0) == k.extent(0) && q.extent(0) == v.extent(0) &&        // heads
                   k.extent(1) == v.extent(1) &&                                      // keys
                   q.extent(2) == k.extent(2) && q.extent(2) > 0 && v.extent(2) > 0;  // head_dim
  if (!fit) {
    throw std::invalid_argument("attention of q " + to_string(q.shape()) + ", k " + to_string(k.shape()) +
                                " and v " + to_string(v.shape()) +
                                ": expected [heads, queries, head_dim], [heads, keys, head_dim] and "
                                "[heads, keys, value_dim] with head_dim and value_dim at least 1");
  }
}

}  // namespace

template <class T>
Attention<T> attention(const TensorOf<T>& q, const TensorOf<T>& k, const TensorOf<T>& v, Mask mask) {
  require_shapes(q, k, v);
  const Index heads = q.extent(0);
  const Index queries = q.extent(1);
  Attention<T> result{TensorOf<T>({heads, queries, v.extent(2)}), TensorOf<T>({heads, queries})};
  for (Index head = 0; head < heads; ++head) {
    Matrix<T> p = masked_scores<T>(head_of(q, head), head_of(k, head), mask);
    softmax_of_rows(p, result.lse.data() + head * queries);
    head_of(result.o, head) = times<T>(numbers_of(p), head_of(v, head));
  }
  return result;
}

template <class T>
AttentionGradients<T> attention_gradients(const TensorOf<T>& q, const TensorOf<T>& k, const TensorOf<T>& v,
                                          const TensorOf<T>& d_o, Mask mask) {
  require_shapes(q, k, v);
  return attention_gradients(q, k, v, d_o, TensorOf<T>({q.extent(0), q.extent(1)}), mask);
}

template <class T>
AttentionGradients<T> attention_gradients(const TensorOf<T>& q, const TensorOf<T>& k, const TensorOf<T>& v,
                                          const TensorOf<T>& d_o, const TensorOf<T>& d_lse, Mask mask) {
  require_shapes(q, k, v);
  const Shape o_shape{q.extent(0), q.extent(1), v.extent(2)};
  if (d_o.shape() != o_shape) {
    throw std::invalid_argument("d_o has shape " + to_string(d_o.shape()) + ", expected the output's " +
                                to_string(o_shape));
  }
  const Shape lse_shape{q.extent(0), q.extent(1)};
  if (d_lse.shape() != lse_shape) {
    throw std::invalid_argument("d_lse has shape " + to_string(d_lse.shape()) + ", expected lse's " +
                                to_string(lse_shape));
  }
  AttentionGradients<T> result{TensorOf<T>(q.shape()), TensorOf<T>(k.shape()), TensorOf<T>(v.shape())};
  const T scale = score_scale<T>(q.extent(2));
  for (Index head = 0; head < q.extent(0); ++head) {
    const ConstMap<T> v_h = head_of(v, head);
    const ConstMap<T> d_o_h = head_of(d_o, head);
    Matrix<T> p = masked_scores<T>(head_of(q, head), head_of(k, head), mask);
    Vector<T> lse(p.rows());
    softmax_of_rows(p, lse.data());

    const Matrix<T> o = times<T>(numbers_of(p), v_h);
    const Vector<T> d = o.cwiseProduct(d_o_h).rowwise().sum();  // D, one number a query
    const Eigen::Map<const Vector<T>> d_lse_h(d_lse.data() + head * q.extent(1), q.extent(1));
    const Matrix<T> d_p = times_transposed<T>(d_o_h, v_h);
    const Matrix<T> d_s = p.cwiseProduct(d_p.colwise() - (d - d_lse_h));

    head_of(result.dv, head) = transposed_times<T>(numbers_of(p), d_o_h);
    head_of(result.dq, head) = times<T>(numbers_of(d_s), head_of(k, head), scale);
    head_of(result.dk, head) = transposed_times<T>(numbers_of(d_s), head_of(q, head), scale);
  }
  return result;
}

template Attention<float> attention(const TensorOf<float>&, const TensorOf<float>&, const TensorOf<float>&,
                                    Mask);
template Attention<double> attention(const TensorOf<double>&, const TensorOf<double>&,
                                     const TensorOf<double>&, Mask);
template AttentionGradients<float> attention_gradients(const TensorOf<float>&, const TensorOf<float>&,
                                                       const TensorOf<float>&, const TensorOf<float>&, Mask);
template AttentionGradients<double> attention_gradients(const TensorOf<double>&, const TensorOf<double>&,
                                                        const TensorOf<double>&, const TensorOf<double>&,
                                                        Mask);

template AttentionGradients<float> attention_gradients(const TensorOf<float>&, const TensorOf<float>&,
                                                       const TensorOf<float>&, const TensorOf<float>&,
                                                       const TensorOf<float>&, Mask);
template AttentionGradients<double> attention_gradients(const TensorOf<double>&, const TensorOf<double>&,
                                                        const TensorOf<double>&, const TensorOf<double>&,
                                                        const TensorOf<double>&, Mask);

}  // namespace course::reference
