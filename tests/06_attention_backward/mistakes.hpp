#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "judge/task.hpp"
#include "reference/reference.hpp"

/// The backward pass with steps of it done wrong, or none: dense, one head at a time.
namespace mistakes {

using namespace course;

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

inline Index integer(const Example& example, const char* name) {
  return static_cast<Index>(example.arguments.at(name).front());
}

inline Tensor64 input(const Example& example, const char* name) {
  return cast<double>(example.inputs.at(name));
}

inline reference::Mask mask_of(const Example& example) {
  return {reference::Mask::Kind::Causal, integer(example, "offset")};
}

template <class T>
Matrix<T> head_of(const Example& example, const char* name, Index head) {
  const MatrixView<const float> view = example.inputs.at(name).heads().head(head);
  return Eigen::Map<const Matrix<float>>(view.data(), view.rows(), view.cols()).cast<T>();
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
        o_(head_of<T>(example, "o", head)),
        d_o_(head_of<T>(example, "d_o", head)),
        lse_(row_of<T>(example, "lse", head)),
        d_lse_(row_of<T>(example, "d_lse", head)),
        scale_(1 / std::sqrt(static_cast<T>(q_.cols()))),
        s_(scale_ * q_ * k_.transpose()),
        dp_(d_o_ * head_of<T>(example, "v", head).transpose()),
        block_(integer(example, "block")),
        query_block_(integer(example, "query_block")),
        offset_(integer(example, "offset")) {}

  void write(MatrixView<double> dq, MatrixView<double> dk, MatrixView<double> dv) const {
    Matrix<T> p(s_.rows(), s_.cols());
    Matrix<T> ds(s_.rows(), s_.cols());
    for (Index i = 0; i < s_.rows(); ++i) {
      for (Index j = 0; j < s_.cols(); ++j) {
        p(i, j) = weight(i, j);
        ds(i, j) =
            p(i, j) * (steps_.diagonal ? (1 - p(i, j)) * dp_(i, j)
                                       : dp_(i, j) - delta(i, j) + static_cast<T>(steps_.d_lse) * d_lse_[i]);
      }
    }
    if (steps_.ragged_dropped) {
      p.rightCols(ragged()).setZero();
      ds.rightCols(ragged()).setZero();
    }
    write_sums(p, ds, dq, dk, dv);
  }

 private:
  Index visible(Index i) const { return std::clamp<Index>(i + offset_ + 1, 0, s_.cols()); }
  Index ragged() const { return s_.cols() % block_; }
  Index block_start(Index j) const { return j - j % block_; }
  Index block_end(Index j) const { return std::min(block_start(j) + block_, s_.cols()); }

  T right_weight(Index i, Index j) const { return j < visible(i) ? std::exp(s_(i, j) - lse_[i]) : 0; }

  /// The largest visible score of row i among keys first .. last - 1, of which there is one.
  T maximum(Index i, Index first, Index last) const {
    return s_.row(i).segment(first, std::min(last, visible(i)) - first).maxCoeff();
  }

  T weight(Index i, Index j) const {
    const bool seen = j < visible(i);
    switch (steps_.weights) {
      case Weights::BlockMaximum:
        return seen ? std::exp(s_(i, j) - maximum(i, block_start(j), block_end(j))) : 0;
      case Weights::RowMaximum:
        return seen ? std::exp(s_(i, j) - maximum(i, 0, s_.cols())) : 0;
      case Weights::NanInMaskedRow:
        return visible(i) == 0 ? static_cast<T>(nan) : right_weight(i, j);
      case Weights::NothingHidden:
        return visible(i) == 0 ? 0 : std::exp(s_(i, j) - lse_[i]);
      case Weights::MaskedRowsToo:
        return std::exp(s_(i, j) - lse_[i]);
      case Weights::CountedPerBlock:
        return j - block_start(j) < visible(i) ? std::exp(s_(i, j) - lse_[i]) : 0;
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
        return o_.row(i).dot(d_o_.row(i)) / static_cast<T>(o_.cols());
      case Delta::FirstColumn:
        return o_(i, 0) * d_o_(i, 0);
      default:
        return o_.row(i).dot(d_o_.row(i));
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
      share.dots += p * dp_(i, other);
      share.weights += p;
    }
    return share;
  }

  void write_sums(const Matrix<T>& p, const Matrix<T>& ds, MatrixView<double> dq, MatrixView<double> dk,
                  MatrixView<double> dv) const {
    const auto as_eigen = [](MatrixView<double> view) {
      return Eigen::Map<Matrix<double>>(view.data(), view.rows(), view.cols());
    };
    // Shapes allow p for its transpose where one square block is all there is.
    const bool square = p.rows() == p.cols() && block_ >= p.cols() && query_block_ >= p.rows();
    const Index keys = steps_.dq_from == Kept::All || p.cols() == 0 ? 0 : block_start(p.cols() - 1);
    const Index queries =
        steps_.dk_dv_from == Kept::All || p.rows() == 0 ? 0 : (p.rows() - 1) / query_block_ * query_block_;
    const auto of_queries = [&](const Matrix<T>& x) { return x.bottomRows(x.rows() - queries); };
    const auto of_keys = [&](const Matrix<T>& x) { return x.rightCols(x.cols() - keys); };
    const auto scaled = [&](int times) { return static_cast<T>(std::pow(scale_, times)); };
    const auto write = [&](MatrixView<double> to, const Matrix<T>& from) {
      as_eigen(to) = from.template cast<double>();
    };
    write(dq, scaled(steps_.dq_scales) * of_keys(ds) * k_.bottomRows(k_.rows() - keys));
    write(dv, of_queries(p).transpose() * of_queries(d_o_));
    write(dk, scaled(steps_.dk_scales) * of_queries(ds).transpose() * of_queries(q_));
    if (steps_.dv_transposed && square) write(dv, p * d_o_);
    if (steps_.dk_transposed && square) write(dk, scaled(steps_.dk_scales) * ds * q_);
    if (!steps_.ragged_dropped) return;
    as_eigen(dv).bottomRows(ragged()).setConstant(steps_.ragged_fill);
    as_eigen(dk).bottomRows(ragged()).setConstant(steps_.ragged_fill);
  }

  Steps steps_;
  Matrix<T> q_, k_, o_, d_o_;
  std::vector<T> lse_, d_lse_;
  T scale_;
  Matrix<T> s_, dp_;
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
              double delta = std::inner_product(p_row.begin(), p_row.end(), dp_row.begin(), 0.0);
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
