#include "judge/numbers/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "judge/numbers/error_location.hpp"

namespace course {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double baseline_factor = 8;
/// Sixty-odd roundings of float32 (2^-24 each): what another order of the same operations may cost where a
/// score is that large, since exp(s) is off by the rounding of s. The baseline's own error may be small by
/// luck.
constexpr double rounding_floor = 4e-6;
/// Five roundings of float32: over terms before they cancel, half of all baselines are off by half of one.
constexpr double rounding_of_terms = 3e-7;
/// How often a right answer rounds the exponent of a weight, by up to 2^-24 of it each time: the score
/// itself, and an lse of its own at each merge of two blocks.
constexpr double roundings_of_an_exponent = 4;

bool same_special(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

/// Sums of squares of a group of entries.
struct Norms {
  double difference = 0;
  double magnitude = 0;  ///< of the expected entries
  Index finite = 0;      ///< entries that the sums are of
  void add(double answer, double expected) {
    if (!std::isfinite(answer) || !std::isfinite(expected)) {
      if (!same_special(answer, expected)) difference = infinity;
      return;
    }
    difference += (answer - expected) * (answer - expected);
    magnitude += expected * expected;
    ++finite;
  }
  double error() const {
    if (difference == 0) return 0;
    return magnitude > 0 ? std::sqrt(difference / magnitude) : infinity;
  }
  /// The root mean square of the expected entries.
  double typical_magnitude() const {
    return finite > 0 ? std::sqrt(magnitude / static_cast<double>(finite)) : 0;
  }
};

Index group_count(const Tensor64& tensor) {
  return tensor.rank() > 1 ? std::max<Index>(1, tensor.extent(0)) : 1;
}

/// By entry of the first axis; of one axis, all entries together.
std::vector<Norms> norms_by_group(const Tensor64& answer, const Tensor64& expected) {
  std::vector<Norms> groups(group_count(expected));
  const Index group_size = expected.size() / std::ssize(groups);
  for (Index i = 0; i < expected.size(); ++i) groups[i / group_size].add(answer[i], expected[i]);
  return groups;
}

/// Of the finite entries among `count` from `first` on.
double sum_of_squares(const Tensor64& x, Index first, Index count) {
  double sum = 0;
  for (Index i = first; i < first + count; ++i) sum += std::isfinite(x[i]) ? x[i] * x[i] : 0;
  return sum;
}

/// Everything about the wrong entries of one output.
class Survey {
 public:
  Survey(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
         const std::vector<int>& shard_tokens)
      : output_(output), answer_(answer), expected_(expected), shard_tokens_(shard_tokens) {
    by_rank_.resize(std::max<std::size_t>(1, shard_tokens.size()));
    const std::vector<double> off = off_by(answer, expected, tolerance);
    for (Index i = 0; i < expected.size(); ++i) {
      by_rank_[owner(position_of(i, expected.shape())).rank].add(answer[i], expected[i]);
      if (off[i] > off[worst_]) worst_ = i;
      if (off[i] > tolerance) wrong_.push_back(i);
    }
  }

  std::string text() const {
    const double answer =
        std::isnan(answer_[worst_]) ? std::abs(answer_[worst_]) : answer_[worst_];  // not "-nan"
    const std::string where = fmt::format("{}{} is {:.6g}, should be {:.6g}", ranked() ? rank_prefix() : "",
                                          position_text(), answer, expected_[worst_]);
    return where + "\n" + error_text() + fmt::format("; {} of {} wrong", wrong_.size(), expected_.size()) +
           where_text();
  }

 private:
  bool ranked() const { return shard_tokens_.size() > 1; }
  Index row_axis() const { return output_.join_axis; }

  Owner owner(const std::vector<Index>& position) const {
    const Index row = position.empty() ? 0 : position[row_axis()];
    if (!ranked()) return {0, row};
    if (output_.axes[row_axis()] == "rank") return {static_cast<int>(row), 0};
    return owner_of(row, shard_tokens_);
  }

  std::string rank_prefix() const {
    return fmt::format("rank {}: ", owner(position_of(worst_, expected_.shape())).rank);
  }

  std::string position_text() const {
    std::vector<Index> position = position_of(worst_, expected_.shape());
    if (ranked() && !position.empty()) position[row_axis()] = owner(position).row;
    std::string text = output_.name + "[";
    bool first = true;
    for (std::size_t axis = 0; axis < position.size(); ++axis) {
      if (ranked() && output_.axes[axis] == "rank") continue;
      text += fmt::format("{}{} {}", first ? "" : ", ", output_.axes[axis], position[axis]);
      first = false;
    }
    return first ? output_.name : text + "]";
  }

  std::string error_text() const {
    if (!ranked()) return fmt::format("relative error {:.2g}", by_rank_[0].error());
    std::string text = "relative error";
    for (std::size_t rank = 0; rank < by_rank_.size(); ++rank) {
      text += fmt::format("{} {:.2g} on rank {}", rank == 0 ? "" : ",", by_rank_[rank].error(), rank);
    }
    return text;
  }

  std::string where_text() const {
    const std::string where = locality(output_, expected_.shape(), wrong_, shard_tokens_);
    return where.empty() ? "" : ", all in " + where;
  }

  const Output& output_;
  const Tensor64& answer_;
  const Tensor64& expected_;
  const std::vector<int>& shard_tokens_;
  std::vector<Norms> by_rank_;
  std::vector<Index> wrong_;
  Index worst_ = 0;
};

}  // namespace

double relative_error(const Tensor64& answer, const Tensor64& expected) {
  return relative_error(answer, expected, expected);
}

double relative_error(const Tensor64& answer, const Tensor64& expected, const Tensor64& scale) {
  std::vector<Norms> groups = norms_by_group(answer, expected);
  const Index group_size = expected.size() / std::ssize(groups);
  double worst = 0;
  for (Index group = 0; group < std::ssize(groups); ++group) {
    Norms& norms = groups[group];
    norms.magnitude = std::max(norms.magnitude, sum_of_squares(scale, group * group_size, group_size));
    worst = std::max(worst, norms.error());
  }
  return worst;
}

double tolerance(const Tensor64& baseline, const Tensor64& expected, double exponent) {
  if (baseline.shape() != expected.shape()) {
    throw std::invalid_argument("the baseline has the shape " + to_string(baseline.shape()) +
                                ", and the expected answer " + to_string(expected.shape()));
  }
  const double error = relative_error(baseline, expected);
  if (!std::isfinite(error)) {
    throw std::invalid_argument(
        "the baseline is not near the expected answer: its relative error is infinite");
  }
  return std::max(allowed_beside(error), roundings_of_an_exponent * 0x1p-24 * exponent);
}

namespace {

/// The largest norm of a group of `x` as a multiple of the norm of the same group of `y`, where that is not
/// 0.
double largest_ratio(const Tensor64& x, const Tensor64& y) {
  const Index groups = group_count(y), size = y.size() / groups;
  double largest = 0;
  for (Index group = 0; group < groups; ++group) {
    const double below = sum_of_squares(y, group * size, size);
    if (below > 0) largest = std::max(largest, std::sqrt(sum_of_squares(x, group * size, size) / below));
  }
  return largest;
}

}  // namespace

double tolerance(const Tensor64& baseline, const Tensor64& expected, const Tensor64& cancellation_free) {
  return std::max(tolerance(baseline, expected),
                  rounding_of_terms * largest_ratio(cancellation_free, expected) + rounding_floor);
}

double allowed_beside(double baseline_error) {
  return baseline_factor * baseline_error + rounding_floor;
}

std::vector<double> typical_magnitudes(const Tensor64& expected) {
  const std::vector<Norms> groups = norms_by_group(expected, expected);
  const Index group_size = expected.size() / std::ssize(groups);
  std::vector<double> magnitudes(expected.size());
  for (Index i = 0; i < expected.size(); ++i) magnitudes[i] = groups[i / group_size].typical_magnitude();
  return magnitudes;
}

std::vector<double> off_by(const Tensor64& answer, const Tensor64& expected, double tolerance) {
  const std::vector<Norms> groups = norms_by_group(answer, expected);
  const std::vector<double> scales = typical_magnitudes(expected);
  const Index group_size = expected.size() / std::ssize(groups);
  std::vector<double> off(expected.size());
  for (Index i = 0; i < expected.size(); ++i) {
    if (groups[i / group_size].error() <= tolerance || same_special(answer[i], expected[i])) continue;
    const double difference = std::abs(answer[i] - expected[i]);
    off[i] = std::isfinite(difference) && scales[i] > 0 ? difference / scales[i] : infinity;
  }
  return off;
}

std::string locate(const Output& output, const Tensor64& answer, const Tensor64& expected, double tolerance,
                   const std::vector<int>& shard_tokens) {
  return Survey(output, answer, expected, tolerance, shard_tokens).text();
}

}  // namespace course
