#include "judge/numbers/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "judge/numbers/origin.hpp"
#include "judge/numbers/wrong_entries.hpp"

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

/// The rank that an entry is from, and the row within that rank's piece.
Place place_of(const Output& output, const std::vector<Index>& position, const Layout& layout) {
  const Index row = position.empty() ? 0 : position[output.join_axis];
  if (layout.ranks() < 2) return {0, row};
  if (output.axes[output.join_axis] == "rank") return {static_cast<int>(row), 0};
  return layout.place(row);
}

/// "rank 1: o[head 0, row 17, col 4]", the row counted within the rank's piece.
std::string place_words(const Output& output, std::vector<Index> position, const Layout& layout) {
  const bool ranked = layout.ranks() > 1;
  const Place owner = place_of(output, position, layout);
  if (ranked && !position.empty()) position[output.join_axis] = owner.row;
  std::string indices;
  for (std::size_t axis = 0; axis < position.size(); ++axis) {
    if (ranked && output.axes[axis] == "rank") continue;
    indices += fmt::format("{}{} {}", indices.empty() ? "" : ", ", output.axes[axis], position[axis]);
  }
  return (ranked ? fmt::format("rank {}: ", owner.rank) : "") + output.in_words() +
         (indices.empty() ? "" : "[" + indices + "]");
}

}  // namespace

double relative_error(const Tensor64& answer, const Tensor64& expected) {
  return relative_error(answer, expected, expected);
}

double relative_error(const Tensor64& answer, const Tensor64& expected, const Tensor64& scale) {
  std::vector<Norms> groups = norms_by_group(answer, expected);
  const std::vector<Norms> scales = norms_by_group(scale, scale);
  double worst = 0;
  for (std::size_t group = 0; group < groups.size(); ++group) {
    groups[group].magnitude = std::max(groups[group].magnitude, scales[group].magnitude);
    worst = std::max(worst, groups[group].error());
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

double tolerance(const Tensor64& baseline, const Tensor64& expected, const Tensor64& cancellation_free) {
  const std::vector<Norms> groups = norms_by_group(expected, expected);
  const std::vector<Norms> terms = norms_by_group(cancellation_free, cancellation_free);
  double cancelled = 0;  // how much larger the terms' norm is than that of what is left of them
  for (std::size_t group = 0; group < groups.size(); ++group) {
    if (groups[group].magnitude > 0)
      cancelled = std::max(cancelled, std::sqrt(terms[group].magnitude / groups[group].magnitude));
  }
  return std::max(tolerance(baseline, expected), rounding_of_terms * cancelled + rounding_floor);
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
                   const Layout& layout) {
  const bool ranked = layout.ranks() > 1;
  const std::vector<double> off = off_by(answer, expected, tolerance);
  std::vector<Norms> by_rank(std::max<std::size_t>(1, layout.ranks()));
  std::vector<Index> wrong;
  Index worst = 0;
  for (Index i = 0; i < expected.size(); ++i) {
    by_rank[place_of(output, position_of(i, expected.shape()), layout).rank].add(answer[i], expected[i]);
    if (off[i] > off[worst]) worst = i;
    if (off[i] > tolerance) wrong.push_back(i);
  }
  std::string errors;
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank) {
    if (std::isinf(by_rank[rank].error())) continue;  // the entry says enough
    errors += fmt::format("{} {:.2g}", errors.empty() ? "relative error" : ",", by_rank[rank].error());
    if (ranked) errors += fmt::format(" on rank {}", rank);
  }
  const std::string where = locality(output, expected.shape(), wrong, layout);
  return fmt::format("{} {}, should be {:.6g}\n{}{}{} of {} wrong{}",
                     place_words(output, position_of(worst, expected.shape()), layout),
                     in_words(answer[worst]), expected[worst], errors, errors.empty() ? "" : "; ",
                     wrong.size(), expected.size(), where.empty() ? "" : ", all in " + where);
}

}  // namespace course
