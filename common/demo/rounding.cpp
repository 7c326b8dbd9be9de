#include "demo/rounding.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <vector>

#include "judge/numbers/rounding.hpp"
#include "reference/softmax.hpp"

namespace course::demo {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Column = Eigen::VectorXd;

/// Scores of one head that are held at once.
constexpr Index scores_at_once = Index{1} << 21;
/// Queries with the same lse that count as alike. Of fewer, the sum of equal errors, each of them at most 2.4
/// deviations, is not far above six deviations of independent ones.
constexpr std::size_t fewest_alike = 16;

Matrix head_of(const Tensor64& tensor, Index head) {
  const MatrixView<const double> view = tensor.heads().head(head);
  return Eigen::Map<const Matrix>(view.data(), view.rows(), view.cols());
}

void set_head(Tensor64& tensor, Index head, const Matrix& matrix) {
  std::copy_n(matrix.data(), matrix.size(), tensor.heads().head(head).data());
}

Matrix rows_of(const Matrix& matrix, std::span<const Index> rows) {
  Matrix taken(std::ssize(rows), matrix.cols());
  for (Index i = 0; i < taken.rows(); ++i) taken.row(i) = matrix.row(rows[i]);
  return taken;
}

/// a b. The only form of product: each takes long to compile.
Matrix times(const Matrix& a, const Matrix& b) {
  return a * b;
}

Matrix squares(const Matrix& matrix) {
  return matrix.cwiseAbs2();
}

/// What is rounded off an lse by a ring that merges so often: in each merge, where m + log l is added up, and
/// by exponents of 2.
double off_lse(double lse, Index merges) {
  return std::sqrt(static_cast<double>(merges + 2) * rounding::of(lse));
}

/// One head of a backward pass.
class Head {
 public:
  /// @param bias of this head alone
  Head(Matrix q, Matrix k, Matrix v, Matrix d_o, const reference::Mask& mask, reference::HeadBias bias,
       Index merges)
      : q_(std::move(q)),
        k_(std::move(k)),
        v_(std::move(v)),
        d_o_(std::move(d_o)),
        mask_(mask),
        bias_(std::move(bias)),
        merges_(merges),
        scale_(1 / std::sqrt(static_cast<double>(q_.cols()))),
        all_keys_(static_cast<std::size_t>(k_.rows()) - bias_.sinks.size()) {
    std::iota(all_keys_.begin(), all_keys_.end(), Index{0});
  }

  /// Adds what these queries share, whose lse are off by the same or, if they are not alike, by anything:
  /// each by something else, or all one way.
  void add(const std::vector<Index>& queries, bool alike, const std::function<void(Index)>& progress) {
    Matrix of_dk = Matrix::Zero(k_.rows(), k_.cols()), of_dv = of_dk;
    in_pieces(queries, [&](std::span<const Index> piece) {
      const Part part = part_of(piece);
      const Matrix off_p = part.off.asDiagonal() * part.p, off_d_s = part.off.asDiagonal() * part.d_s;
      of_dv += times(off_p.transpose(), part.d_o);
      of_dk += times(off_d_s.transpose(), part.q);
      if (!alike) {
        variance_of_dv_ += times(squares(off_p).transpose(), squares(part.d_o));
        variance_of_dk_ += times(squares(off_d_s).transpose(), squares(part.q));
      }
      // Deltas may be off by the same whatever the lse are, where o and d_o are alike.
      of_deltas_ += times((part.off_delta.asDiagonal() * part.p).transpose(), part.q.cwiseAbs());
      set_dq(piece, part);
      progress(std::ssize(piece));
    });
    variance_of_dk_ += squares(of_dk);
    variance_of_dv_ += squares(of_dv);
  }

  /// The queries by what they have in common: of each of the first lists one lse, in the last all others.
  std::vector<std::vector<Index>> by_lse() const {
    std::vector<Index> all(static_cast<std::size_t>(q_.rows()));
    std::iota(all.begin(), all.end(), Index{0});
    std::map<float, std::vector<Index>> same;
    in_pieces(all, [&](std::span<const Index> piece) {
      Column lse;
      weights(piece, lse);
      for (Index i = 0; i < lse.size(); ++i) same[static_cast<float>(lse[i])].push_back(piece[i]);
    });
    std::vector<std::vector<Index>> lists;
    std::vector<Index> others;
    for (auto& [lse, queries] : same) {
      if (queries.size() >= fewest_alike) {
        lists.push_back(std::move(queries));
      } else {
        others.insert(others.end(), queries.begin(), queries.end());
      }
    }
    std::ranges::sort(others);
    lists.push_back(std::move(others));
    return lists;
  }

  Matrix dq() const { return of_dq_; }
  Matrix dk() const { return scale_ * (variance_of_dk_.cwiseSqrt() + of_deltas_); }
  Matrix dv() const { return variance_of_dv_.cwiseSqrt(); }

 private:
  /// Some queries, and what is off in them.
  struct Part {
    Matrix q, d_o, p, d_s;
    Column off;        ///< of each query's weights, as a part of them
    Column off_delta;  ///< of the number that is taken from each d_p, the products of o and d_o
  };

  void in_pieces(const std::vector<Index>& queries,
                 const std::function<void(std::span<const Index>)>& of) const {
    const std::size_t step = std::max<Index>(1, scores_at_once / std::max<Index>(1, k_.rows()));
    for (std::size_t first = 0; first < queries.size(); first += step)
      of(std::span(queries).subspan(first, std::min(step, queries.size() - first)));
  }

  Matrix weights(std::span<const Index> queries, Column& lse) const {
    Matrix p = scale_ * times(rows_of(q_, queries), k_.transpose());
    const reference::Mask mask = mask_.among(queries, all_keys_);
    const double slope = bias_.slopes.empty() ? 0 : bias_.slopes[0];
    lse.resize(p.rows());
    for (Index i = 0; i < p.rows(); ++i) {
      const reference::KeyRange seen = mask.keys(i);
      for (Index j = 0; j < std::ssize(all_keys_); ++j) {
        if (j < seen.first || j >= seen.last) p(i, j) = -std::numeric_limits<double>::infinity();
        p(i, j) -= slope * static_cast<double>(std::abs(queries[i] - j));
      }
      if (!bias_.sinks.empty()) p(i, p.cols() - 1) = bias_.sinks[0];
      lse[i] = reference::softmax_in_place(std::span(p.row(i).data(), static_cast<std::size_t>(p.cols())));
    }
    return p;
  }

  Part part_of(std::span<const Index> queries) const {
    Column lse;
    Part part{rows_of(q_, queries), rows_of(d_o_, queries), weights(queries, lse), {}, {}, {}};
    const Matrix d_p = times(part.d_o, v_.transpose());
    const Column delta = part.p.cwiseProduct(d_p).rowwise().sum();
    part.d_s = part.p.cwiseProduct(d_p.colwise() - delta);
    part.off = lse.unaryExpr([&](double one) { return std::isfinite(one) ? off_lse(one, merges_) : 0; });
    // By Cauchy and Schwarz the squares of o_c d_o_c add up to no more than sqrt(sum o_c^4) sqrt(sum
    // d_o_c^4).
    const Column o_4 = times(part.p, v_).array().pow(4).rowwise().sum().sqrt();
    const Column d_o_4 = part.d_o.array().pow(4).rowwise().sum().sqrt();
    part.off_delta.resize(delta.size());
    for (Index i = 0; i < delta.size(); ++i) {
      part.off_delta[i] = part.off[i] * std::abs(delta[i]) +
                          std::sqrt(rounding::of_sum(v_.cols(), o_4[i] * d_o_4[i], delta[i]));
    }
    return part;
  }

  void set_dq(std::span<const Index> queries, const Part& part) {
    const Matrix dq = times(part.d_s, k_).cwiseAbs(), keys = times(part.p, k_).cwiseAbs();
    for (Index i = 0; i < dq.rows(); ++i)
      of_dq_.row(queries[i]) = scale_ * (part.off[i] * dq.row(i) + part.off_delta[i] * keys.row(i));
  }

  const Matrix q_, k_, v_, d_o_;
  const reference::Mask& mask_;
  const reference::HeadBias bias_;
  const Index merges_;
  const double scale_;
  std::vector<Index> all_keys_;
  Matrix of_dq_ = Matrix::Zero(q_.rows(), q_.cols());
  Matrix variance_of_dk_ = Matrix::Zero(k_.rows(), k_.cols()), variance_of_dv_ = variance_of_dk_;
  Matrix of_deltas_ = variance_of_dk_;
};

}  // namespace

AttentionRounding rounding_of_attention(const Tensor64& o, const Tensor64& lse, Index merges) {
  AttentionRounding off{o, lse};
  const Index value_dim = o.extent(2);
  for (Index row = 0; row < lse.size(); ++row) {
    off.lse[row] = std::isfinite(lse[row]) ? off_lse(lse[row], merges) : 0;
    for (Index c = 0; c < value_dim; ++c)
      off.o[row * value_dim + c] = std::abs(o[row * value_dim + c]) * off.lse[row];
  }
  return off;
}

GradientRounding rounding_of_gradients(const Tensor64& q, const Tensor64& k, const Tensor64& v,
                                       const Tensor64& d_o, const reference::Mask& mask,
                                       const reference::HeadBias& bias, Index merges,
                                       const std::function<void(Index)>& progress) {
  GradientRounding off{Tensor64(q.shape()), Tensor64(k.shape()), Tensor64(v.shape())};
  Index done = 0;
  const auto tell = [&](Index more) { progress(done += more); };
  const auto of_head = [](const std::vector<double>& numbers, Index head) {
    return numbers.empty() ? std::vector<double>() : std::vector{numbers[head]};
  };
  for (Index index = 0; index < q.extent(0); ++index) {
    const Index kv = index / (q.extent(0) / k.extent(0));
    Head head(head_of(q, index), head_of(k, kv), head_of(v, kv), head_of(d_o, index), mask,
              {of_head(bias.slopes, index), of_head(bias.sinks, index)}, merges);
    const std::vector<std::vector<Index>> lists = head.by_lse();
    for (const std::vector<Index>& list : lists) head.add(list, &list != &lists.back(), tell);
    set_head(off.dq, index, head.dq());
    // Heads that share keys may be off by the same.
    set_head(off.dk, kv, head_of(off.dk, kv) + head.dk());
    set_head(off.dv, kv, head_of(off.dv, kv) + head.dv());
  }
  return off;
}

}  // namespace course::demo
