#include "judge/attention/block_backward_steps.hpp"

#include <algorithm>
#include <limits>

#include "judge/attention/backward.hpp"
#include "judge/attention/forward.hpp"

namespace course::block_backward {

namespace {

/// D of a row: the sum of the products of two rows, o and d_o or p and dp.
template <class T>
T row_delta(Delta how, std::span<const T> a, std::span<const T> b) {
  switch (how) {
    case Delta::LeftOut:
      return 0;
    case Delta::Mean:
      return dot<T>(a, b) / static_cast<T>(a.size());
    case Delta::FirstColumn:
      return a.empty() ? 0 : a[0] * b[0];
    default:
      return dot<T>(a, b);
  }
}

template <class T>
T score_gradient(const Steps& steps, T p, T dp, T delta, T d_lse) {
  const T share = steps.diagonal ? (1 - p) * dp : dp - delta;
  return p * (share + static_cast<T>(steps.d_lse) * d_lse);
}

/// An example's inputs in T.
template <class T>
struct Given {
  explicit Given(const Example& example)
      : q(input<T>(example, "q")),
        k(input<T>(example, "k")),
        v(input<T>(example, "v")),
        d_o(input<T>(example, "d_o")),
        o(input<T>(example, "o")),
        lse(input<T>(example, "lse")),
        d_lse(input<T>(example, "d_lse")),
        block(integer(example, "block")),
        query_block(integer(example, "query_block")) {}

  TensorOf<T> q, k, v, d_o, o, lse, d_lse;
  Index block, query_block;
};

/// One head of one example.
template <class T>
class Head {
 public:
  Head(const Steps& steps, const Given<T>& given, Index head, const reference::Mask& mask)
      : steps_(steps),
        given_(given),
        head_(head),
        dense_(given.q.heads().head(head), given.k.heads().head(head), given.v.heads().head(head),
               given.d_o.heads().head(head)) {
    for (Index i = 0; i < rows(); ++i) {
      const auto [first, last] = mask.keys(i);
      seen_.push_back({std::min(first, cols()), std::min(last, cols())});
      for (Index key = 0; key < cols() - dropped(); key += given_.block) fill_block(i, key);
    }
  }

  void add_to(reference::AttentionGradients<T>& sums) const {
    const MatrixView<T> dk = sums.dk.heads().head(head_), dv = sums.dv.heads().head(head_);
    // Shapes allow p for its transpose where one square block is all there is.
    const bool square = rows() == cols() && given_.block >= cols() && given_.query_block >= rows();
    const Index first_key = first_kept(steps_.dq_from, cols(), given_.block);
    const Index first_query = first_kept(steps_.dk_dv_from, rows(), given_.query_block);
    const auto scaled = [&](int times) { return static_cast<T>(std::pow(dense_.scale, times)); };
    add_product(sums.dq.heads().head(head_), scaled(steps_.dq_scales), dense_.ds, dense_.k, first_key);
    add_product(dv, T{1}, steps_.dv_transposed && square ? dense_.p : transposed(dense_.p), dense_.d_o,
                first_query);
    add_product(dk, scaled(steps_.dk_scales),
                steps_.dk_transposed && square ? dense_.ds : transposed(dense_.ds), dense_.q, first_query);
    for (const MatrixView<T>& gradient : {dk, dv}) {
      const MatrixView<T> left_out = gradient.rows(cols() - dropped(), dropped());
      std::fill_n(left_out.data(), left_out.size(), static_cast<T>(steps_.ragged_fill));
    }
  }

 private:
  Index rows() const { return dense_.s.extent(0); }
  Index cols() const { return dense_.s.extent(1); }
  Index dropped() const { return steps_.ragged_dropped ? cols() % given_.block : 0; }
  T score(Index i, Index j) const { return dense_.s.matrix()(i, j); }
  T lse(Index i) const { return given_.lse.matrix()(head_, i); }
  bool is_masked(Index i) const { return seen_[i].first == seen_[i].last; }
  bool is_seen(Index i, Index j) const { return seen_[i].first <= j && j < seen_[i].last; }

  static Index first_kept(Kept kept, Index tokens, Index block) {
    return kept == Kept::All || tokens == 0 ? 0 : (tokens - 1) / block * block;
  }

  /// p and ds of row i in the block that begins with key `first`.
  void fill_block(Index i, Index first) {
    const Index last = std::min(first + given_.block, cols());
    const T subtracted = subtracted_from_scores(i, first, last);
    const T row_d = delta(i, first, last);
    for (Index j = first; j < last; ++j) {
      const T p = has_weight(i, j, first) ? std::exp(score(i, j) - subtracted) : 0;
      dense_.p.matrix()(i, j) = p;
      dense_.ds.matrix()(i, j) =
          score_gradient(steps_, p, dense_.dp.matrix()(i, j), row_d, given_.d_lse.matrix()(head_, i));
    }
  }

  T subtracted_from_scores(Index i, Index first, Index last) const {
    switch (steps_.weights) {
      case Weights::BlockMaximum:
        return maximum(i, first, last);
      case Weights::RowMaximum:
        return maximum(i, 0, cols());
      case Weights::NanInMaskedRow:
        return is_masked(i) ? std::numeric_limits<T>::quiet_NaN() : lse(i);
      default:
        return lse(i);
    }
  }

  /// The largest score of row i among the keys first .. last - 1 that it sees.
  T maximum(Index i, Index first, Index last) const {
    T largest = -std::numeric_limits<T>::infinity();
    for (Index j = first; j < last; ++j) {
      if (is_seen(i, j)) largest = std::max(largest, score(i, j));
    }
    return largest;
  }

  bool has_weight(Index i, Index j, Index first_of_block) const {
    switch (steps_.weights) {
      case Weights::NanInMaskedRow:
        return is_masked(i) || is_seen(i, j);
      case Weights::NothingHidden:
        return !is_masked(i);
      case Weights::MaskedRowsToo:
        return true;
      case Weights::CountedPerBlock:
        return is_seen(i, j - first_of_block);
      default:
        return is_seen(i, j);
    }
  }

  T delta(Index i, Index first, Index last) const {
    if (steps_.delta != Delta::OfBlock && steps_.delta != Delta::OfBlockSoftmax)
      return row_delta<T>(steps_.delta, given_.o.heads().head(head_).row(i), dense_.d_o.row(i));
    T dots = 0, weights = 0;
    for (Index j = first; j < last; ++j) {
      const T p = is_seen(i, j) ? std::exp(score(i, j) - lse(i)) : 0;
      dots += p * dense_.dp.matrix()(i, j);
      weights += p;
    }
    if (steps_.delta == Delta::OfBlock) return dots;
    return weights > 0 ? dots / weights : 0;
  }

  const Steps& steps_;
  const Given<T>& given_;
  Index head_;
  DenseHead<T> dense_;
  std::vector<reference::KeyRange> seen_;  ///< by query
};

}  // namespace

Answer row_gradients(const Steps& steps, const Example& example) {
  const Tensor64 p = input(example, "p"), dp = input(example, "dp"), d_lse = input(example, "d_lse");
  Tensor64 ds(p.shape());
  for (Index i = 0; i < p.extent(0); ++i) {
    const double delta = row_delta<double>(steps.delta, p.matrix().row(i), dp.matrix().row(i));
    for (Index j = 0; j < p.extent(1); ++j)
      ds.matrix()(i, j) = score_gradient(steps, p.matrix()(i, j), dp.matrix()(i, j), delta, d_lse[i]);
  }
  return {{"ds", std::move(ds)}};
}

template <class T>
Answer gradients(const Steps& steps, const Example& example, const reference::Mask& mask) {
  const Given<T> given(example);
  const T dk_dv_start = static_cast<T>(steps.dk_dv_start);
  reference::AttentionGradients<T> sums{TensorOf<T>(given.q.shape(), static_cast<T>(steps.dq_start)),
                                        TensorOf<T>(given.k.shape(), dk_dv_start),
                                        TensorOf<T>(given.k.shape(), dk_dv_start)};
  for (Index head = 0; head < given.q.extent(0); ++head) Head<T>(steps, given, head, mask).add_to(sums);
  return as_answer(sums);
}

template Answer gradients<float>(const Steps&, const Example&, const reference::Mask&);
template Answer gradients<double>(const Steps&, const Example&, const reference::Mask&);

}  // namespace course::block_backward
