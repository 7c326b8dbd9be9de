#include "judge/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "ring/shards.hpp"

namespace course {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double baseline_factor = 8;
/// Some sixteen roundings of float32 (2^-24 each): what another order of the same operations may cost.
constexpr double rounding_floor = 1e-6;

bool same_special(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || a == b;
}

/// Sums of squares of a group of entries.
struct Norms {
  double difference = 0;
  double truth = 0;
  void add(double answer, double expected) {
    if (!std::isfinite(answer) || !std::isfinite(expected)) {
      if (!same_special(answer, expected)) difference = infinity;
      return;
    }
    difference += (answer - expected) * (answer - expected);
    truth += expected * expected;
  }
  double error() const {
    if (difference == 0) return 0;
    return truth > 0 ? std::sqrt(difference / truth) : infinity;
  }
};

Index group_count(const Tensor64& tensor) {
  return tensor.rank() > 1 ? std::max<Index>(1, tensor.extent(0)) : 1;
}

std::vector<Index> position_of(Index flat, const Shape& shape) {
  std::vector<Index> position(shape.size());
  for (Index axis = static_cast<Index>(shape.size()) - 1; axis >= 0; --axis) {
    position[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return position;
}

/// The rank that owns an entry, and the entry's row within that rank's shard.
struct Owner {
  int rank;
  Index row;
};

Owner owner_of(Index row, const std::vector<int>& shard_tokens) {
  const std::vector<int> offsets = shard_offsets(shard_tokens);
  for (int rank = static_cast<int>(offsets.size()) - 1; rank >= 0; --rank) {
    if (row >= offsets[rank] && shard_tokens[rank] > 0) return {rank, row - offsets[rank]};
  }
  return {0, row};
}

/// Everything about the wrong entries of one output.
class Survey {
 public:
  Survey(const Output& output, const Tensor64& answer, const Tensor64& truth, double tolerance,
         const std::vector<int>& shard_tokens)
      : output_(output), answer_(answer), truth_(truth), shard_tokens_(shard_tokens) {
    by_rank_.resize(std::max<std::size_t>(1, shard_tokens.size()));
    const double scale = typical_magnitude();
    for (Index i = 0; i < truth.size(); ++i) visit(i, tolerance * scale);
  }

  std::string text() const {
    const double answer =
        std::isnan(answer_[worst_]) ? std::abs(answer_[worst_]) : answer_[worst_];  // not "-nan"
    const std::string where = fmt::format("{}{} is {:.6g}, should be {:.6g}", ranked() ? rank_prefix() : "",
                                          position_text(), answer, truth_[worst_]);
    return where + "\n" + error_text() + fmt::format("; {} of {} wrong", wrong_, truth_.size()) + rows_text();
  }

 private:
  bool ranked() const { return shard_tokens_.size() > 1; }
  Index row_axis() const { return output_.join_axis; }

  /// The root mean square of the finite expected entries: an entry is called wrong relative to that.
  double typical_magnitude() const {
    double sum = 0;
    Index count = 0;
    for (const double value : truth_.values()) {
      if (!std::isfinite(value)) continue;
      sum += value * value;
      ++count;
    }
    return count > 0 ? std::sqrt(sum / static_cast<double>(count)) : 0;
  }

  Owner owner(const std::vector<Index>& position) const {
    const Index row = position.empty() ? 0 : position[row_axis()];
    if (!ranked()) return {0, row};
    if (output_.axes[row_axis()] == "rank") return {static_cast<int>(row), 0};
    return owner_of(row, shard_tokens_);
  }

  void visit(Index i, double allowed) {
    const std::vector<Index> position = position_of(i, truth_.shape());
    const Owner at = owner(position);
    by_rank_[at.rank].add(answer_[i], truth_[i]);
    if (same_special(answer_[i], truth_[i])) return;
    const double off = std::abs(answer_[i] - truth_[i]);
    const double badness = std::isfinite(off) ? off : infinity;
    if (badness <= allowed) return;
    ++wrong_;
    const Index row = position.empty() ? 0 : position[row_axis()];
    first_row_ = std::min(first_row_, row);
    last_row_ = std::max(last_row_, row);
    if (badness > worst_badness_) {
      worst_badness_ = badness;
      worst_ = i;
    }
  }

  std::string rank_prefix() const {
    return fmt::format("rank {}: ", owner(position_of(worst_, truth_.shape())).rank);
  }

  std::string position_text() const {
    std::vector<Index> position = position_of(worst_, truth_.shape());
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

  std::string rows_text() const {
    if (truth_.rank() == 0 || wrong_ == 0 || output_.axes[row_axis()] == "rank") return "";
    const Index rows = truth_.extent(row_axis());
    if (first_row_ == 0 && last_row_ == rows - 1) return "";
    const std::string where = first_row_ == last_row_ ? fmt::format(" {}", first_row_)
                                                      : fmt::format("s {} to {}", first_row_, last_row_);
    return fmt::format(", all in {}{} of {}{}", output_.axes[row_axis()], where, rows,
                       ranked() ? " (counted over all ranks)" : "");
  }

  const Output& output_;
  const Tensor64& answer_;
  const Tensor64& truth_;
  const std::vector<int>& shard_tokens_;
  std::vector<Norms> by_rank_;
  Index wrong_ = 0;
  Index worst_ = 0;
  double worst_badness_ = -1;
  Index first_row_ = std::numeric_limits<Index>::max();
  Index last_row_ = -1;
};

}  // namespace

double relative_error(const Tensor64& answer, const Tensor64& truth) {
  const Index groups = group_count(truth);
  const Index group_size = truth.size() / groups;
  double worst = 0;
  for (Index group = 0; group < groups; ++group) {
    Norms norms;
    for (Index i = group * group_size; i < (group + 1) * group_size; ++i) norms.add(answer[i], truth[i]);
    worst = std::max(worst, norms.error());
  }
  return worst;
}

double tolerance(const Tensor64& baseline, const Tensor64& truth) {
  return baseline_factor * relative_error(baseline, truth) + rounding_floor;
}

std::string locate(const Output& output, const Tensor64& answer, const Tensor64& truth, double tolerance,
                   const std::vector<int>& shard_tokens) {
  return Survey(output, answer, truth, tolerance, shard_tokens).text();
}

}  // namespace course
