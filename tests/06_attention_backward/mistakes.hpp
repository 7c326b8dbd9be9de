#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/numbers/dot.hpp"
#include "judge/task.hpp"
#include "reference/reference.hpp"

/// The backward pass with steps of it done wrong, or none: dense, one head at a time.
namespace mistakes {

using namespace course;

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

inline Index integer(const Example& example, const char* name) {
  return static_cast<Index>(example.arguments.at(name).front());
}

inline Tensor64 input(const Example& example, const char* name) {
  return cast<double>(example.inputs.at(name));
}

inline reference::Mask mask_of(const Example& example) {
  return reference::Mask::causal(integer(example, "offset"));
}

template <class T>
TensorOf<T> head_of(const Example& example, const char* name, Index head) {
  const MatrixView<const float> view = example.inputs.at(name).heads().head(head);
  return {{view.rows(), view.cols()}, {view.data(), view.data() + view.size()}};
}

/// factor a b^T
template <class T>
TensorOf<T> times_transposed(T factor, const TensorOf<T>& a, const TensorOf<T>& b) {
  TensorOf<T> product({a.extent(0), b.extent(0)});
  for (Index i = 0; i < a.extent(0); ++i) {
    for (Index j = 0; j < b.extent(0); ++j)
      product.matrix()(i, j) = factor * dot<T>(a.matrix().row(i), b.matrix().row(j));
  }
  return product;
}

template <class T>
TensorOf<T> transposed(const TensorOf<T>& x) {
  TensorOf<T> made({x.extent(1), x.extent(0)});
  for (Index i = 0; i < x.size(); ++i) made.matrix()(i % x.extent(1), i / x.extent(1)) = x[i];
  return made;
}

/// One head's numbers, one a query.
template <class T>
std::vector<T> row_of(const Example& example, const char* name, Index head) {
  const std::span<const float> row = example.inputs.at(name).matrix().row(head);
  return {row.begin(), row.end()};
}

/// How the weights go wrong.
enum class Weights {
  Right,
  BlockMaximum,     ///< exp(s - m), m the block's maximum
  RowMaximum,       ///< exp(s - m), m the row's maximum
  NanInMaskedRow,   ///< -inf - (-inf)
  NothingHidden,    ///< all keys seen, but masked rows are left out
  MaskedRowsToo,    ///< all keys seen: exp(s - (-inf)) in a masked row
  CountedPerBlock,  ///< visible keys counted from each block's first one
};

/// How D goes wrong.
enum class Delta { Right, LeftOut, OfBlock, OfBlockSoftmax, Mean, FirstColumn };

/// Whose shares of a sum remain.
enum class Kept { All, LastBlock };

/// The backward pass with its steps as switches.
struct Steps {
  Weights weights = Weights::Right;
  Delta delta = Delta::Right;
  double d_lse = 1;       ///< the factor that d_lse enters with
  bool diagonal = false;  ///< ds = p (1 - p) dp, an elementwise function's
  int dq_scales = 1;      ///< how often 1/sqrt(d) is applied
  int dk_scales = 1;
  bool dv_transposed = false;  ///< p where its transpose belongs
  bool dk_transposed = false;
  Kept dq_from = Kept::All;     ///< of the blocks of keys
  Kept dk_dv_from = Kept::All;  ///< of the blocks of queries
  bool ragged_dropped = false;  ///< keys of a last, shorter block are left out
  double ragged_fill = 0;       ///< and their dk and dv are this
};

/// One head of one example.
template <class T>
class Head {
 public:
  Head(const Steps& steps, const Example& example, Index head)
      : steps_(steps),
        q_(head_of<T>(example, "q", head)),
        k_(head_of<T>(example, "k", head)),
        d_o_(head_of<T>(example, "d_o", head)),
        lse_(row_of<T>(example, "lse", head)),
        d_lse_(row_of<T>(example, "d_lse", head)),
        scale_(1 / std::sqrt(static_cast<T>(q_.extent(1)))),
        s_(times_transposed(scale_, q_, k_)),
        dp_(times_transposed(T{1}, d_o_, head_of<T>(example, "v", head))),
        block_(integer(example, "block")),
        query_block_(integer(example, "query_block")),
        offset_(integer(example, "offset")) {
    const TensorOf<T> o = head_of<T>(example, "o", head);
    for (Index i = 0; i < rows(); ++i) {
      right_delta_.push_back(dot<T>(o.matrix().row(i), d_o_.matrix().row(i)));
      first_column_.push_back(o.matrix()(i, 0) * d_o_.matrix()(i, 0));
    }
  }

  void write(MatrixView<double> dq, MatrixView<double> dk, MatrixView<double> dv) const {
    TensorOf<T> p(s_.shape());
    TensorOf<T> ds(s_.shape());
    const Index keys = steps_.ragged_dropped ? cols() - ragged() : cols();
    for (Index i = 0; i < rows(); ++i) {
      for (Index j = 0; j < keys; ++j) {
        const T p_ij = p.matrix()(i, j) = weight(i, j);
        const T dp = dp_.matrix()(i, j);
        ds.matrix()(i, j) =
            p_ij *
            (steps_.diagonal ? (1 - p_ij) * dp : dp - delta(i, j) + static_cast<T>(steps_.d_lse) * d_lse_[i]);
      }
    }
    write_sums(p, ds, dq, dk, dv);
  }

 private:
  Index rows() const { return s_.extent(0); }
  Index cols() const { return s_.extent(1); }
  Index visible(Index i) const { return std::clamp<Index>(i + offset_ + 1, 0, cols()); }
  Index ragged() const { return cols() % block_; }
  Index block_start(Index j) const { return j - j % block_; }
  Index block_end(Index j) const { return std::min(block_start(j) + block_, cols()); }
  T score(Index i, Index j) const { return s_.matrix()(i, j); }

  T right_weight(Index i, Index j) const { return j < visible(i) ? std::exp(score(i, j) - lse_[i]) : 0; }

  /// The largest visible score of row i among keys first .. last - 1, of which there is one.
  T maximum(Index i, Index first, Index last) const {
    return std::ranges::max(s_.matrix().row(i).subspan(first, std::min(last, visible(i)) - first));
  }

  T weight(Index i, Index j) const {
    const bool seen = j < visible(i);
    switch (steps_.weights) {
      case Weights::BlockMaximum:
        return seen ? std::exp(score(i, j) - maximum(i, block_start(j), block_end(j))) : 0;
      case Weights::RowMaximum:
        return seen ? std::exp(score(i, j) - maximum(i, 0, cols())) : 0;
      case Weights::NanInMaskedRow:
        return visible(i) == 0 ? static_cast<T>(nan) : right_weight(i, j);
      case Weights::NothingHidden:
        return visible(i) == 0 ? 0 : std::exp(score(i, j) - lse_[i]);
      case Weights::MaskedRowsToo:
        return std::exp(score(i, j) - lse_[i]);
      case Weights::CountedPerBlock:
        return j - block_start(j) < visible(i) ? std::exp(score(i, j) - lse_[i]) : 0;
      default:
        return right_weight(i, j);
    }
  }

  T delta(Index i, Index j) const {
    switch (steps_.delta) {
      case Delta::LeftOut:
        return 0;
      case Delta::OfBlock:
        return share_of_block(i, j).dots;
      case Delta::OfBlockSoftmax: {
        const Share share = share_of_block(i, j);
        return share.weights > 0 ? share.dots / share.weights : 0;
      }
      case Delta::Mean:
        return right_delta_[i] / static_cast<T>(q_.extent(1));
      case Delta::FirstColumn:
        return first_column_[i];
      default:
        return right_delta_[i];
    }
  }

  /// What the block of key j has of sum p dp and of sum p.
  struct Share {
    T dots = 0;
    T weights = 0;
  };
  Share share_of_block(Index i, Index j) const {
    Share share;
    for (Index other = block_start(j); other < block_end(j); ++other) {
      const T p = right_weight(i, other);
      share.dots += p * dp_.matrix()(i, other);
      share.weights += p;
    }
    return share;
  }

  void write_sums(const TensorOf<T>& p, const TensorOf<T>& ds, MatrixView<double> dq, MatrixView<double> dk,
                  MatrixView<double> dv) const {
    // Shapes allow p for its transpose where one square block is all there is.
    const bool square = rows() == cols() && block_ >= cols() && query_block_ >= rows();
    const Index keys = steps_.dq_from == Kept::All || cols() == 0 ? 0 : block_start(cols() - 1);
    const Index queries =
        steps_.dk_dv_from == Kept::All || rows() == 0 ? 0 : (rows() - 1) / query_block_ * query_block_;
    const auto scaled = [&](int times) { return static_cast<T>(std::pow(scale_, times)); };
    write_sum(dq, scaled(steps_.dq_scales), ds, k_, keys);
    write_sum(dv, 1, steps_.dv_transposed && square ? p : transposed(p), d_o_, queries);
    write_sum(dk, scaled(steps_.dk_scales), steps_.dk_transposed && square ? ds : transposed(ds), q_,
              queries);
    if (!steps_.ragged_dropped) return;
    for (const MatrixView<double>& gradient : {dk, dv}) {
      const MatrixView<double> dropped = gradient.rows(cols() - ragged(), ragged());
      std::fill_n(dropped.data(), dropped.size(), steps_.ragged_fill);
    }
  }

  /// Row r becomes factor sum_c weights(r, c) x_c over the rows of x from `first` on.
  static void write_sum(MatrixView<double> to, T factor, const TensorOf<T>& weights, const TensorOf<T>& x,
                        Index first) {
    for (Index r = 0; r < to.rows(); ++r) {
      std::vector<T> sum(to.cols());
      for (Index c = first; c < x.extent(0); ++c) {
        const T share = factor * weights.matrix()(r, c);
        const std::span<const T> row = x.matrix().row(c);
        for (std::size_t d = 0; d < sum.size(); ++d) sum[d] += share * row[d];
      }
      std::ranges::copy(sum, to.row(r).begin());
    }
  }

  Steps steps_;
  TensorOf<T> q_, k_, d_o_;
  std::vector<T> lse_, d_lse_, right_delta_, first_column_;
  T scale_;
  TensorOf<T> s_, dp_;
  Index block_, query_block_, offset_;
};

/// The gradients by these steps from what the student is given, lse and o included, computed in T.
template <class T = double>
Answer run(const Steps& steps, const Example& example) {
  const Shape& q_shape = example.inputs.at("q").shape();
  const Shape& k_shape = example.inputs.at("k").shape();
  Answer answer{{"dq", Tensor64(q_shape)}, {"dk", Tensor64(k_shape)}, {"dv", Tensor64(k_shape)}};
  for (Index head = 0; head < q_shape.front(); ++head) {
    Head<T>(steps, example, head)
        .write(answer["dq"].heads().head(head), answer["dk"].heads().head(head),
               answer["dv"].heads().head(head));
  }
  return answer;
}

inline Mistake wrong(std::string id, Steps steps) {
  return {std::move(id), [steps](const Example& example) { return run(steps, example); }};
}

/// Mistakes that a block's gradients can show: tasks 2 and 3.
inline std::vector<Mistake> of_blocks() {
  return {wrong("d_left_out", {.delta = Delta::LeftOut, .d_lse = 0}),
          wrong("d_from_one_block", {.delta = Delta::OfBlock, .d_lse = 0}),
          wrong("d_from_block_softmax", {.delta = Delta::OfBlockSoftmax, .d_lse = 0}),
          wrong("dq_unscaled", {.dq_scales = 0}),
          wrong("dk_unscaled", {.dk_scales = 0}),
          wrong("dq_and_dk_unscaled", {.dq_scales = 0, .dk_scales = 0}),
          wrong("scaled_twice", {.dq_scales = 2, .dk_scales = 2}),
          wrong("scaled_twice", {.dq_scales = 2}),
          wrong("scaled_twice", {.dk_scales = 2}),
          wrong("not_transposed", {.dv_transposed = true}),
          wrong("not_transposed", {.dk_transposed = true}),
          wrong("not_transposed", {.dv_transposed = true, .dk_transposed = true}),
          wrong("weights_not_normalised", {.weights = Weights::BlockMaximum}),
          wrong("weights_not_normalised", {.weights = Weights::RowMaximum}),
          wrong("masked_row_nan", {.weights = Weights::NanInMaskedRow}),
          wrong("mask_ignored", {.weights = Weights::NothingHidden}),
          wrong("mask_ignored", {.weights = Weights::MaskedRowsToo}),
          wrong("dq_overwritten", {.dq_from = Kept::LastBlock})};
}

/// dq, dk and dv start as NaN; what is added to without having been cleared stays so.
inline Mistake not_cleared(bool dq, bool dk_dv) {
  return {"sums_not_cleared", [=](const Example& example) {
            Answer answer = run({}, example);
            if (dq) std::ranges::fill(answer["dq"].values(), nan);
            if (dk_dv) std::ranges::fill(answer["dk"].values(), nan);
            if (dk_dv) std::ranges::fill(answer["dv"].values(), nan);
            return answer;
          }};
}

/// Mistakes that only the whole backward pass can make: task 3.
inline std::vector<Mistake> of_the_whole() {
  return {wrong("d_left_out", {.delta = Delta::LeftOut}),
          wrong("d_from_one_block", {.delta = Delta::OfBlock}),
          wrong("d_from_block_softmax", {.delta = Delta::OfBlockSoftmax}),
          wrong("d_is_a_mean", {.delta = Delta::Mean}),
          wrong("d_of_one_column", {.delta = Delta::FirstColumn}),
          wrong("d_lse_left_out", {.d_lse = 0}),
          wrong("d_lse_subtracted", {.d_lse = -1}),
          wrong("visible_not_shifted", {.weights = Weights::CountedPerBlock}),
          wrong("ragged_block_dropped", {.ragged_dropped = true}),
          wrong("ragged_block_dropped", {.ragged_dropped = true, .ragged_fill = nan}),
          not_cleared(true, true),
          not_cleared(true, false),
          not_cleared(false, true)};
}

/// How the softmax's own gradient goes wrong: task 1.
inline Mistake wrong_rows(std::string id, Steps steps) {
  return {std::move(id), [steps](const Example& example) {
            const Tensor64 p = input(example, "p");
            const Tensor64 dp = input(example, "dp");
            const Tensor64 d_lse = input(example, "d_lse");
            Answer answer{{"ds", Tensor64(p.shape())}};
            for (Index i = 0; i < p.extent(0); ++i) {
              const std::span<const double> p_row = p.matrix().row(i);
              const std::span<const double> dp_row = dp.matrix().row(i);
              double delta = dot(p_row, dp_row);
              if (steps.delta == Delta::LeftOut) delta = 0;
              if (steps.delta == Delta::Mean) delta /= static_cast<double>(p_row.size());
              if (steps.delta == Delta::FirstColumn && !p_row.empty()) delta = p_row[0] * dp_row[0];
              for (Index j = 0; j < p.extent(1); ++j) {
                const double share = steps.diagonal ? (1 - p_row[j]) * dp_row[j] : dp_row[j] - delta;
                answer["ds"].matrix()(i, j) = p_row[j] * (share + steps.d_lse * d_lse[i]);
              }
            }
            return answer;
          }};
}

inline std::vector<Mistake> of_rows() {
  return {wrong_rows("d_left_out", {.delta = Delta::LeftOut}),
          wrong_rows("d_left_out", {.delta = Delta::LeftOut, .d_lse = 0}),
          wrong_rows("d_is_a_mean", {.delta = Delta::Mean}),
          wrong_rows("d_of_one_column", {.delta = Delta::FirstColumn}),
          wrong_rows("diagonal_only", {.diagonal = true}),
          wrong_rows("diagonal_only", {.d_lse = 0, .diagonal = true}),
          wrong_rows("d_lse_left_out", {.d_lse = 0}),
          wrong_rows("d_lse_subtracted", {.d_lse = -1})};
}

}  // namespace mistakes
